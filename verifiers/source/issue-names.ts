/** References to code in an issue, with the weight of each word. */
export interface IssueNames {
  /** Weight by name; names contain word characters only. */
  readonly names: ReadonlyMap<string, number>;
  /** Pairs written as `Holder.name` in the issue. */
  readonly members: readonly (readonly [holder: string, name: string])[];
  /** Parts of paths and of dotted modules, as `pkg/mod`. */
  readonly places: readonly string[];
  /** Plain words that may be the name of a file. */
  readonly words: ReadonlySet<string>;
  /** The words of the title. */
  readonly titled: ReadonlySet<string>;
}

const LONGEST_ISSUE = 60_000;
const LONGEST_TITLE = 300;
const MOST_NAMES = 40;
const MOST_JOINED = 120;
/** Shorter words are too common. */
const SHORTEST_WORD = 5;
/** Factor for names in the title; weights of a plain word that may be a name, and of neighbouring words joined into one. */
const TITLE = 2;
const PLAIN = 0.5;
const JOINED = 0.6;

/** Words that occur in every project. */
const COMMON = new Set(
  (
    'self None True False import from return print class def python test tests error Error Exception Traceback line File ' +
    'ValueError TypeError AttributeError str int len list dict set super range object args kwargs getattr result func'
  ).split(' '),
);

/**
 * Names of code in an issue, most name-like first: CamelCase and snake_case, options, dotted parts, words in code, calls,
 * keywords.
 */
export function issueTerms(issue: string): readonly string[] {
  const text = withoutAddresses(issue);
  const dotted = text.match(/\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b/g) ?? [];
  const compound = text.match(/\b(?:[A-Za-z]+_\w+|_\w{3,}|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)\b/g) ?? [];
  const coded = [...text.matchAll(/`([^`\n]{3,60})`/g)].flatMap(
    ([, code = '']) => code.match(/[A-Za-z_]\w{2,}/g) ?? [],
  );
  const called = [...text.matchAll(/\b([A-Za-z_]\w{2,60})\(/g)].map(([, name = '']) => name);
  const keywords = [...text.matchAll(/[(,]\s{0,9}([a-z_]\w{2,60})=/g)].map(([, name = '']) => name);
  const options = [...text.matchAll(/(?<![\w-])--([a-z][a-z-]{2,60})/g)].map(([, name = '']) =>
    name.replaceAll('-', '_'),
  );
  const parts = dotted.flatMap((name) => name.split('.').slice(-2));
  const terms = [...compound, ...options, ...parts, ...coded, ...called, ...keywords].filter(
    (term) => term.length > 2 && term.length < 80 && !COMMON.has(term),
  );
  return [...new Set(terms)].slice(0, MOST_NAMES);
}

/** All references to code in an issue. Runs in linear time. */
export function namesIn(issue: string): IssueNames {
  const text = withoutAddresses(issue);
  const title = (text.trimStart().split('\n', 1)[0] ?? '').slice(0, LONGEST_TITLE);
  const ofTitle = new Set(title.match(/\w+/g) ?? []);
  const names = new Map<string, number>();
  const add = (name: string, weight: number): void => {
    const inTitle = ofTitle.has(name) ? TITLE : 1;
    names.set(name, Math.max(names.get(name) ?? 0, weight * inTitle));
  };
  for (const name of issueTerms(text)) add(name, 1);
  const words = text.match(/\b[A-Za-z][a-z]{1,40}(?![\w.])/g) ?? [];
  const likely = [...new Set(words)].filter((word) => word.length >= SHORTEST_WORD && !COMMON.has(word));
  for (const word of likely.slice(0, MOST_NAMES))
    if (!names.has(word)) add(word, PLAIN * (/^[A-Z]/.test(word) ? 1 : 0.5));
  for (const name of joinedWords(text, title)) if (!names.has(name)) names.set(name, JOINED);
  const titled = new Set([...ofTitle].filter((word) => word.length >= SHORTEST_WORD && !COMMON.has(word)).map(lower));
  const members = [...text.matchAll(/\b([A-Za-z_]\w*)\.([A-Za-z_]\w*)\b/g)].map(
    ([, holder = '', name = '']) => [holder, name] as const,
  );
  return { names, members: members.slice(0, 200), places: placesIn(text), words: new Set(likely.map(lower)), titled };
}

function lower(word: string): string {
  return word.toLowerCase();
}

function withoutAddresses(issue: string): string {
  // URLs are full of name-like words, and Trac's note of an edit contains the name of a Django decorator.
  return issue
    .slice(0, LONGEST_ISSUE)
    .replace(/https?:\/\/\S+/g, ' ')
    .replace(/\(last modified by [^()\n]{0,80}\)/, ' ');
}

/** Joins neighbouring words into names, those of the title first: "non form errors" may be `non_form_errors`. */
function joinedWords(text: string, title: string): readonly string[] {
  const joined = new Set<string>();
  for (const part of [title, ...text.slice(title.length).split(/[.,;:()\n]/)]) {
    const words = (part.match(/\b[A-Za-z]{2,40}\b/g) ?? []).map(lower);
    for (const [index, word] of words.entries()) {
      for (const length of [2, 3]) {
        const run = words.slice(index, index + length);
        if (run.length === length && word.length > 2) joined.add(run.join('_'));
      }
      if (joined.size >= MOST_JOINED) return [...joined];
    }
  }
  return [...joined];
}

/** `a/b.py`, `File "…/a/b.py"` and `a.b.c`, as paths without an extension. */
function placesIn(text: string): readonly string[] {
  const paths = [...text.matchAll(/(?<![\w.-])[\w.-]+(?:[/\\][\w.-]+){1,20}/g)].map(([path]) =>
    path.replaceAll('\\', '/').replace(/\.\w+$/, ''),
  );
  const modules = (text.match(/\b[a-z_]\w*(?:\.[A-Za-z_]\w*){1,20}/g) ?? []).map((name) => name.replaceAll('.', '/'));
  return [...new Set([...paths, ...modules])].slice(0, MOST_NAMES);
}
