import type { ReportStore } from '../../src/ports/benchmark-store.js';

export type OpenReportStore = (now: () => number) => Promise<ReportStore>;

/** What every store of reports must do. */
export function reportStoreContract(name: string, make: OpenReportStore): void {
  describe(`${name} as a store of reports`, () => {
    let clock: number;
    let store: ReportStore;
    beforeEach(async () => {
      clock = Date.UTC(2026, 0, 1);
      store = await make(() => clock);
    });
    const put = (id: string, title = 't'): Promise<void> =>
      store.put({ id, title, document: `{"of":"${id}"}`, page: `<p>${id} ü\u{1f600}</p>` });

    it('gives back what was put, with the time', async () => {
      await put('a', "it's <b>");
      const created_at = '2026-01-01T00:00:00.000Z';
      const texts = { document: '{"of":"a"}', page: '<p>a ü\u{1f600}</p>' };
      expect(await store.get('a')).toEqual({ id: 'a', title: "it's <b>", created_at, ...texts });
      expect(await store.get('b')).toBeNull();
    });

    it('keeps the first of two with the same id', async () => {
      await put('a');
      clock += 1000;
      await put('a', 'other');
      expect(await store.list(10, null)).toEqual({
        reports: [{ id: 'a', title: 't', created_at: '2026-01-01T00:00:00.000Z' }],
        next: null,
      });
    });

    it('lists the newest first, in pages that neither repeat nor skip, also within one millisecond', async () => {
      for (const id of ['a', 'c', 'b', 'e', 'd']) {
        await put(id);
        if (id === 'b') clock += 5;
      }
      const seen: string[] = [];
      let before: string | null = null;
      do {
        const page = await store.list(2, before);
        seen.push(...page.reports.map(({ id }) => id));
        before = page.next;
      } while (before !== null);
      expect(seen).toEqual(['e', 'd', 'c', 'b', 'a']);
    });
  });
}
