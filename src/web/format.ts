import { options, type VNode } from 'preact';
import { visible as spellOut } from '../core/hostile-text.js';

const NUMBER = new Intl.NumberFormat('en');
const DATE = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

export function count(value: number): string {
  return NUMBER.format(value);
}

/** `1 step`, `2 steps`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Formats a share, 0..1. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}

export function seconds(value: number): string {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 120) return `${Math.round(value)} s`;
  const minutes = Math.round(value / 60);
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

export function money(usd: number): string {
  return usd >= 1 ? `$${usd.toFixed(2)}` : `$${usd.toFixed(4)}`;
}

/** 12,345 → 12.3k */
export function short(value: number): string {
  if (value < 1_000) return String(value);
  return value < 1_000_000 ? `${(value / 1_000).toFixed(1)}k` : `${(value / 1_000_000).toFixed(1)}M`;
}

export function moment(iso: string): string {
  return DATE.format(new Date(iso));
}

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  return value < 1_000_000 ? `${Math.round(value / 1_000)} kB` : `${(value / 1_000_000).toFixed(1)} MB`;
}

/** Formats a score by its measure's unit: a probability with `digits` decimals, a count with its total. */
export function measured(score: number, outOf: number, unit: 'probability' | 'count' | 'score', digits = 3): string {
  if (unit === 'count') return `${score}/${outOf}`;
  return unit === 'probability' ? score.toFixed(digits) : String(Math.round(score * 1_000) / 1_000);
}

/** Terminal colours and cursor movements, which are meaningless on a page. Other escape sequences are made visible. */
const ANSI = /\u001b\[[0-?]*[ -/]*[@-~]/g;

/** External text with all invisible characters made visible. */
export function visible(text: string): string {
  return spellOut(text.replace(ANSI, ''));
}

const SHOWN = ['title', 'aria-label', 'placeholder', 'alt', 'label'];

/** Makes every text and every accessible label that Preact renders from now on visible. */
export function makeTextSafe(): void {
  const before = options.vnode?.bind(options);
  options.vnode = (vnode: VNode): void => {
    const props = vnode.props as Record<string, unknown>;
    if (props.children !== undefined) props.children = safe(props.children);
    for (const name of SHOWN) if (typeof props[name] === 'string') props[name] = visible(props[name]);
    before?.(vnode);
  };
}

function safe(child: unknown): unknown {
  if (typeof child === 'string') return visible(child);
  return Array.isArray(child) ? child.map(safe) : child;
}
