import { BadInputError } from '../core/errors.js';
import type { Located } from './records.js';

/** Refuses the second record of an id, naming both places. */
export class UniqueRecords {
  private readonly seen = new Map<string, Located>();

  constructor(private readonly field: string) {}

  has(id: string): boolean {
    return this.seen.has(id);
  }

  /** @throws BadInputError when the id was added before */
  add(id: string, record: Located): void {
    const earlier = this.seen.get(id);
    if (earlier !== undefined) {
      const where = earlier.line === undefined ? 'earlier in the file' : `on line ${earlier.line}`;
      throw new BadInputError(
        `"${id}" stands already ${where}.`,
        { file: record.file, line: record.line, field: this.field },
        'Give every record of an instance an id of its own.',
      );
    }
    this.seen.set(id, record);
  }
}
