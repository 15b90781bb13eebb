export interface SentEvent {
  readonly id: number;
  readonly type: string;
  readonly data: { readonly seq: number; readonly type: string; readonly data: unknown };
}

/** Reads a stream of server-sent events; stops reading, and hangs up, after `most`. */
export async function readEvents(response: Response, most = Number.POSITIVE_INFINITY): Promise<SentEvent[]> {
  if (response.body === null) throw new Error('The answer has no body.');
  const events: SentEvent[] = [];
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks.filter((lines) => !lines.startsWith(':'))) {
      const fields = new Map(
        block.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]),
      );
      events.push({
        id: Number(fields.get('id')),
        type: fields.get('event') ?? '',
        data: JSON.parse(fields.get('data') ?? '') as SentEvent['data'],
      });
      if (events.length >= most) return events;
    }
  }
  return events;
}
