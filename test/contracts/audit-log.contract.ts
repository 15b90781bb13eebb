import type { AuditEntry, AuditLog, AuditRecord } from '../../src/ports/audit-log.js';

const ENTRY: AuditEntry = {
  action: 'run.cancel',
  actor: 'ana',
  address: '10.0.0.1',
  run_id: 'run_1',
  outcome: 'done',
  times: 1,
};

/** What every AuditLog promises. `open` gives an empty one. */
export function auditLogContract(name: string, open: () => Promise<AuditLog>): void {
  describe(`AuditLog: ${name}`, () => {
    it('gives back what was written, with an id and the time', async () => {
      const log = await open();
      const unknown = { ...ENTRY, actor: null, run_id: null, outcome: 'unauthorized', times: 7 };
      const before = Date.now();
      await log.append([ENTRY, unknown]);
      await log.append([]);
      const { entries, next } = await log.list(10, null);
      expect(entries).toMatchObject([unknown, ENTRY]);
      expect(next).toBeNull();
      expect(Date.parse(entries[0]?.at ?? '')).toBeGreaterThanOrEqual(before);
    });

    it('lists the newest first, in pages that neither repeat nor skip, of all runs or of one', async () => {
      const log = await open();
      for (let n = 0; n < 7; n += 1) await log.append([{ ...ENTRY, run_id: `run_${n % 2}`, times: n + 1 }]);
      const pages = async (runId?: string): Promise<number[]> => {
        const seen: AuditRecord[] = [];
        for (let before: string | null = null; ;) {
          const page = await log.list(2, before, runId);
          seen.push(...page.entries);
          if (page.next === null) return seen.map(({ times }) => times);
          before = page.next;
        }
      };
      expect(await pages()).toEqual([7, 6, 5, 4, 3, 2, 1]);
      expect(await pages('run_1')).toEqual([6, 4, 2]);
    });

    it('keeps the runs of the largest upload, and names that no database can hold', async () => {
      const log = await open();
      await log.append(Array.from({ length: 6_000 }, (_, n) => ({ ...ENTRY, run_id: `run_${n}` })));
      expect((await log.list(1, null, 'run_5999')).entries).toHaveLength(1);
      await log.append([{ ...ENTRY, action: 'a\0b', actor: '\ud800' }]);
      expect((await log.list(1, null)).entries).toHaveLength(1);
      expect((await log.list(1, 'x\0', 'y\0')).entries).toEqual([]);
    });
  });
}
