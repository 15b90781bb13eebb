import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import type { RunEvent } from '../../ports/run-store.js';
import { type Caller, callerOf, nameOf } from '../guard/caller.js';
import type { Operation } from './run-views.js';

const HEARTBEAT_MS = 15_000;
/** Streams stay open for hours: they must not take every connection. */
const MAX_OPEN = { ofAll: 1_024, ofOne: 128 };
const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** Of the operations that follow something. */
export const LAST_EVENT_ID: Operation['headers'] & object = {
  'Last-Event-ID': {
    description: '`seq` of the last event received; the stream continues after it.',
    schema: z.string().regex(/^\d{0,15}$/),
  },
};

/** What a stream tells of, a run or a benchmark, behind the event with a number. */
interface Followed {
  isOver(seq: number): Promise<boolean>;
  /** @param gone when the client has left */
  follow(seq: number, gone: AbortSignal): AsyncIterable<RunEvent>;
}

/** The event streams that are open, whatever they follow. */
@Injectable()
export class EventStreams {
  /** Names of callers, once for each of their streams. */
  private readonly open: string[] = [];

  /**
   * Answers with events until they end or the client leaves; where nothing comes behind the last it knows, with 204.
   * @throws ServiceUnavailableException where too many streams are open, BadInputError for a Last-Event-ID of no event
   */
  async answer(request: Request, response: Response, followed: Followed): Promise<void> {
    const seq = seqOf(request.get('last-event-id'));
    if (await followed.isOver(seq)) response.status(204).end();
    else if (request.method === 'HEAD') response.set('Content-Type', EVENT_STREAM).end();
    // Of a client that left meanwhile no further "close" would tell.
    else if (!response.destroyed) await this.send(callerOf(request), response, (gone) => followed.follow(seq, gone));
  }

  private async send(
    by: Caller,
    response: Response,
    follow: (gone: AbortSignal) => AsyncIterable<RunEvent>,
  ): Promise<void> {
    const caller = nameOf(by);
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
    await sendEvents(response, follow(gone.signal));
  }
}

/** @throws BadInputError for an id that no event of ours has */
function seqOf(lastEventId = ''): number {
  if (!/^\d{0,15}$/.test(lastEventId)) throw new BadInputError('is not a number.', { field: 'Last-Event-ID' });
  return Number(lastEventId);
}

/** Sends events as server-sent events, at the pace of the client, and comments while nothing happens. */
async function sendEvents(response: Response, events: AsyncIterable<RunEvent>): Promise<void> {
  response.status(200).set({ 'Content-Type': EVENT_STREAM, 'X-Accel-Buffering': 'no' });
  response.flushHeaders();
  const heartbeat = setInterval(() => {
    // A client that does not read is ended by the server.
    if (!response.writableNeedDrain) response.write(': still here\n\n');
  }, HEARTBEAT_MS);
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
