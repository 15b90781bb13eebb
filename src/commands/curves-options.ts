import type { Command, Option } from 'commander';
import { BadInputError, type InputPlace } from '../core/errors/errors.js';
import { printProgress } from './output.js';
import { findPreset, parsePreset, presetNames } from '../../verifiers/hybrid/presets.js';
import type { Preset } from '../core/run/preset.js';
import { readYaml } from '../io/inputs/yaml.js';
import type { Axis } from '../statistics/curves/coverage.js';
import { wholeNumberTo } from './command.js';
import { isPresetFile } from './run-options.js';

/** Largest supported k. */
const LARGEST_K = 100_000;
/** Maximum number of points per curve. */
const MOST_KS = 10_000;

/** Options that determine the curves of a score matrix or of runs. */
export interface CurveOptions {
  readonly presets?: string;
  readonly compare?: string;
  readonly k?: string;
  readonly bootstrap: number;
  readonly seed: number;
  readonly draws: number;
}

/** The defaults of a command's curves; those in words are applied by the command. */
interface CurveDefaults {
  readonly k: string;
  readonly presets: Option;
  readonly draws: number;
}

export function withCurveOptions(command: Command, { k, presets, draws }: CurveDefaults): Command {
  const atLeastOne = (text: string): number => Math.max(1, wholeNumberTo(10_000_000)(text));
  return command
    .addOption(presets)
    .option('--compare <list>', 'baseline rules for the comparisons, or "all" (default: random)')
    .option('-k, --k <list>', `e.g. 1..26 or 1,2,4,8, up to the largest number of candidates (default: ${k})`)
    .option('--bootstrap <n>', 'resamples for the intervals; 0 = normal approximation', wholeNumberTo(100_000), 2000)
    .option('--seed <n>', 'seed for resampling and random subsets', wholeNumberTo(2 ** 32 - 1), 1)
    .option('--draws <n>', 'random subsets if neither a closed form nor enumeration is feasible', atLeastOne, draws);
}

/** Parses `1..26`, `1,2,4,8` or `1..8,16,32` into ascending numbers. @throws BadInputError */
export function parseKs(text: string): number[] {
  const ks = new Set(text.split(',').flatMap(rangeOf));
  if (ks.size > MOST_KS) throw new BadInputError(`asks for more than ${MOST_KS} points.`, { field: '--k' });
  return [...ks].sort((a, b) => a - b);
}

function rangeOf(part: string): number[] {
  const [, first = '0', last = first] = /^\s*(\d{1,6})(?:\.\.(\d{1,6}))?\s*$/.exec(part) ?? [];
  const [from, to] = [Number(first), Number(last)];
  if (from < 1 || to < from || to - from >= MOST_KS || to > LARGEST_K) {
    throw new BadInputError(`"${part}" is not a k or a range of them.`, { field: '--k' }, 'Write e.g. --k 1..26.');
  }
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/**
 * Those ks that an issue has candidates for; says on stderr if others were asked for.
 * @param largest number of labelled candidates of an issue
 * @throws BadInputError if no k is left
 */
export function possibleKs(asked: readonly number[], largest: number): number[] {
  const ks = asked.filter((k) => k <= largest);
  const most = `no issue has more than ${largest} candidate${largest === 1 ? '' : 's'} with a label`;
  if (ks.length === 0) throw new BadInputError(`${most}.`, { field: '--k' }, `Write e.g. --k 1..${largest}.`);
  if (ks.length < asked.length) printProgress(`k ends at ${ks.at(-1) ?? largest}: ${most}.`);
  return ks;
}

/** @throws BadInputError if no issue has a labelled candidate, so that there is nothing to count */
export function needCandidates(largest: number, place: InputPlace): void {
  if (largest > 0) return;
  throw new BadInputError('no issue has a candidate with a label.', place, 'docs/statistics.md describes the input.');
}

/** Presets by name, `all`, or user files. @throws BadInputError */
export async function choosePresets(text: string): Promise<Preset[]> {
  const presets: Preset[] = [];
  for (const name of presetNames(text)) {
    const preset = isPresetFile(name) ? parsePreset(await readYaml(name), name) : findPreset(name);
    if (presets.some((other) => other.name === preset.name)) {
      throw new BadInputError(`two presets are called "${preset.name}".`, { field: '--presets' });
    }
    presets.push(preset);
  }
  return presets;
}

/** Names of the presets that the others are compared with; undefined = all pairs. @throws BadInputError for an unknown name */
export function parseReferences(text: string, presets: readonly Preset[]): readonly string[] | undefined {
  if (text.trim() === 'all') return undefined;
  const names = text.split(',').map((name) => name.trim());
  const stranger = names.find((name) => !presets.some((preset) => preset.name === name));
  if (stranger === undefined) return names;
  const next = `Name some of ${presets.map(({ name }) => name).join(', ')}, or all.`;
  throw new BadInputError(`"${stranger}" is not among the rules.`, { field: '--compare' }, next);
}

/** Parses `steps:10,20,40` into an axis. @throws BadInputError */
export function parseAxis(text: string): Axis {
  const [name = '', limits = ''] = text.split(':');
  const numbers = limits.split(',').map(Number);
  if (!/^[A-Za-z_]\w{0,63}$/.test(name) || limits === '' || !numbers.every(Number.isFinite)) {
    throw new BadInputError(
      `"${text}" is not a column and its limits.`,
      { field: '--axis' },
      'Write e.g. --axis context_tokens:16384,32768.',
    );
  }
  return { name, limits: [...new Set(numbers)].sort((a, b) => a - b) };
}
