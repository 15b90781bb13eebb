import { Controller, Get, Headers, Param, Req, Res, ServiceUnavailableException } from '@nestjs/common';
import type { Request, Response } from 'express';
import { BadInputError } from '../../core/errors/errors.js';
import type { RunEvent } from '../../ports/run-store.js';
import { RunService } from '../../runs/run-service.js';
import { callerOf, nameOf } from '../guard/caller.js';
import { KnownRunId } from './run-params.js';

const HEARTBEAT_MS = 15_000;
/** Streams stay open for hours: they must not take every connection. */
const MAX_OPEN = { ofAll: 1_024, ofOne: 128 };

@Controller('v1/runs')
export class RunEventsController {
  /** Names of callers, once for each of their streams. */
  private readonly open: string[] = [];

  constructor(private readonly runs: RunService) {}

  /** Closes when the run has ended; asked again after its last event, answers 204, which ends an EventSource. */
  @Get(':id/events')
  async follow(
    @Param('id', KnownRunId) id: string,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const seq = seqOf(lastEventId);
    if (await this.runs.isOver(id, seq)) {
      response.status(204).end();
      return;
    }
    if (request.method === 'HEAD') {
      response.set('Content-Type', EVENT_STREAM).end();
      return;
    }
    const caller = nameOf(callerOf(request));
    const own = this.open.filter((name) => name === caller).length;
    if (this.open.length >= MAX_OPEN.ofAll || own >= MAX_OPEN.ofOne) {
      throw new ServiceUnavailableException('Too many event streams are open.');
    }
    this.open.push(caller);
    const gone = new AbortController();
    response.once('close', () => {
      this.open.splice(this.open.indexOf(caller), 1);
      gone.abort();
    });
    await sendEvents(response, this.runs.follow(id, seq, gone.signal), HEARTBEAT_MS);
  }
}

/** @throws BadInputError for an id that no event of ours has */
export function seqOf(lastEventId = ''): number {
  if (!/^\d{0,15}$/.test(lastEventId)) throw new BadInputError('is not a number.', { field: 'Last-Event-ID' });
  return Number(lastEventId);
}

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** Sends events as server-sent events, at the pace of the client, and comments while nothing happens. */
export async function sendEvents(
  response: Response,
  events: AsyncIterable<RunEvent>,
  heartbeatMs: number,
): Promise<void> {
  response.status(200).set({ 'Content-Type': EVENT_STREAM, 'X-Accel-Buffering': 'no' });
  response.flushHeaders();
  const heartbeat = setInterval(() => {
    // A client that does not read is ended by the server.
    if (!response.writableNeedDrain) response.write(': still here\n\n');
  }, heartbeatMs);
  try {
    for await (const event of events) {
      if (!response.write(messageOf(event))) await roomIn(response);
    }
    response.end();
  } finally {
    clearInterval(heartbeat);
  }
}

/** JSON holds no line break, and a type is one line, so nothing in an event can begin a field of its own. */
function messageOf(event: RunEvent): string {
  const type = event.type.replaceAll(/[\r\n]+/g, ' ');
  return `id: ${event.seq}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function roomIn(response: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
    if (response.destroyed) done();
  });
}
