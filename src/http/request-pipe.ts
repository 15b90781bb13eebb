import { type ArgumentMetadata, StandardSchemaValidationPipe } from '@nestjs/common';
import { z } from 'zod';
import { InvalidRequestError } from './problem.js';

/** In a request of more values not every problem is named: a note of each, and a few megabytes would stop the service. */
const MOST_VALUES = 100_000;
const AT_THE_FIRST: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/** Reads what a request says by its schema. @throws InvalidRequestError */
export class RequestPipe extends StandardSchemaValidationPipe {
  constructor() {
    super({ exceptionFactory: (issues) => new InvalidRequestError(issues) });
  }

  override async transform<T>(value: T, metadata: ArgumentMetadata): Promise<T> {
    const { schema } = metadata;
    if (!(schema instanceof z.ZodType) || !holdsMoreThan(MOST_VALUES, value)) return super.transform(value, metadata);
    this.stripProtoKeys(value);
    const read = schema.safeParse(value, AT_THE_FIRST);
    if (!read.success) throw new InvalidRequestError(read.error.issues.slice(0, 1));
    return read.data as T;
  }
}

function holdsMoreThan(most: number, value: unknown): boolean {
  const open = [value];
  for (let count = 1; open.length > 0;) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    const members = Object.values(next) as unknown[];
    count += members.length;
    if (count > most) return true;
    for (const member of members) open.push(member);
  }
  return false;
}
