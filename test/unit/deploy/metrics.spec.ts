import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { PrometheusMeter } from '../../../src/telemetry/prometheus-meter.js';
import { COUNTERS, DURATIONS, LEVELS } from '../../../src/ports/telemetry.js';

const OURS: Readonly<Record<string, { readonly labels: readonly string[] }>> = { ...COUNTERS, ...DURATIONS, ...LEVELS };
/** What Prometheus itself puts on every sample, and what a histogram's buckets have. */
const ALWAYS = ['job', 'instance', 'le'];

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['warning', 'critical']) }),
          annotations: z.object({ summary: z.string(), action: z.string() }),
        }),
      ),
    }),
  ),
});
const Dashboard = z.object({
  panels: z.array(
    z.object({
      title: z.string(),
      gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
      targets: z.array(z.object({ expr: z.string() })).default([]),
    }),
  ),
});

const read = (path: string): string => readFileSync(new URL(`../../../deploy/${path}`, import.meta.url), 'utf8');
const rules = Rules.parse(parse(read('prometheus/alerts.yml'))).groups.flatMap((group) => group.rules);
const { panels } = Dashboard.parse(JSON.parse(read('grafana/dashboard.json')));
const onDashboard = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));
const all = [...rules.map(({ alert, expr }) => [alert, expr] as const), ...onDashboard];

/** Metrics that an expression names, with the labels it matches; a histogram by its own name. */
function named(expr: string): { metric: string; labels: string[] }[] {
  const found = expr.matchAll(/\b((?:bestk|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = '', matchers = '']) => ({
    metric: name.replace(/_(bucket|sum|count)$/, ''),
    labels: [...matchers.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }));
}

const grouped = (expr: string): string[] =>
  [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(',').map((label) => label.trim()));

it.each(all)('%s asks for metrics and labels that are there', async (_name, expr) => {
  const text = await new PrometheusMeter('0').text();
  const metrics = named(expr);
  for (const { metric, labels } of metrics) {
    expect(text).toContain(`# TYPE ${metric} `);
    if (!metric.startsWith('bestk_')) continue;
    expect([...(OURS[metric]?.labels ?? []), ...ALWAYS]).toEqual(expect.arrayContaining(labels));
  }
  const known = metrics.flatMap(({ metric }) => OURS[metric]?.labels ?? []);
  expect([...known, ...ALWAYS]).toEqual(expect.arrayContaining(grouped(expr)));
});

it('shows every metric on the dashboard', () => {
  const shown = new Set(onDashboard.flatMap(([, expr]) => named(expr).map(({ metric }) => metric)));
  expect(Object.keys(OURS).filter((name) => !shown.has(name))).toEqual([]);
});

it('puts no panel over another', () => {
  const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
  );
  expect(new Set(places).size).toBe(places.length);
});
