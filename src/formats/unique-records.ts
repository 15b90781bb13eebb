import { BadInputError } from '../core/errors.js';
import { placeOf, type Located } from './records.js';

/** Refuses the second record of an id, naming both places. */
export class UniqueRecords {
  private readonly seen = new Map<string, number | undefined>();

  constructor(private readonly field: string) {}

  has(id: string): boolean {
    return this.seen.has(id);
  }

  /** @throws BadInputError when the id was added before */
  add(id: string, record: Located): void {
    if (this.seen.has(id)) {
      const line = this.seen.get(id);
      const where = line === undefined ? 'earlier in the file' : `on line ${line}`;
      throw new BadInputError(
        `"${id}" stands already ${where}.`,
        placeOf(record, this.field),
        'Give every record of an instance an id of its own.',
      );
    }
    this.seen.set(id, record.line);
  }
}
