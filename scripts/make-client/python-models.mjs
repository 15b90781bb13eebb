/** The module of a Python client that holds the types of an OpenAPI 3.1 document: a TypedDict for each object. */
export function pythonModels({ components }) {
  const made = new Models();
  for (const [name, schema] of Object.entries(components.schemas)) made.component(name, schema);
  return `${HEAD}${made.source()}`;
}

const HEAD = `# Written by \`npm run client\` from /openapi.json; change the service instead.
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

Json = Any
`;

const KEYWORDS = new Set([
  'from',
  'in',
  'is',
  'not',
  'and',
  'or',
  'class',
  'def',
  'pass',
  'global',
  'import',
  'with',
  'as',
]);

class Models {
  classes = [];
  aliases = [];
  /** Names of objects without one of their own, by what they are. */
  named = new Map();

  source() {
    return [...this.classes, ...this.aliases].map((text) => `\n\n${text}\n`).join('');
  }

  component(name, schema) {
    if (name === 'Json') return;
    if (isClass(schema)) this.record(name, schema);
    else this.aliases.push(`${name} = ${this.typeOf(schema, name)}`);
  }

  /** A class whose members are required, and below it one with the rest: \`NotRequired\` is of Python 3.11. */
  record(name, { properties, required = [], description }) {
    const members = Object.entries(properties).map(([key, schema]) => {
      const note = schema.description === undefined ? '' : `  # ${schema.description.replaceAll(/\s+/g, ' ')}`;
      return { line: `    ${key}: ${this.typeOf(schema, name + pascal(key))}${note}`, must: required.includes(key) };
    });
    const must = members.filter((member) => member.must).map(({ line }) => line);
    const may = members.filter((member) => !member.must).map(({ line }) => line);
    const doc = description === undefined ? [] : [`    """${description.replaceAll('"', "'")}"""`];
    if (must.length === 0 || may.length === 0) {
      const total = must.length === 0 ? ', total=False' : '';
      this.classes.push(
        [`class ${name}(TypedDict${total}):`, ...doc, ...must, ...may].join('\n') +
          (members.length === 0 ? '\n    pass' : ''),
      );
    } else {
      this.classes.push([`class _${name}(TypedDict):`, ...must].join('\n'));
      this.classes.push([`class ${name}(_${name}, total=False):`, ...doc, ...may].join('\n'));
    }
  }

  /** @param name of the class that an object without a name becomes */
  typeOf(schema, name) {
    if (schema.$ref !== undefined) return refOf(schema.$ref);
    if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
    if (schema.enum !== undefined) return `Literal[${schema.enum.map(literal).join(', ')}]`;
    const choices =
      schema.anyOf ??
      schema.oneOf ??
      (Array.isArray(schema.type) ? schema.type.map((type) => ({ ...schema, type })) : null);
    if (choices !== null) return this.unionOf(choices, name);
    if (schema.type === 'array') return `List[${this.typeOf(schema.items ?? {}, name)}]`;
    // Members that are no names in Python cannot be those of a class.
    if (isRecord(schema) && !isClass(schema)) return 'Dict[str, Any]';
    if (!isClass(schema)) return PLAIN[schema.type]?.(this, schema, name) ?? 'Any';
    const what = JSON.stringify(schema);
    const known = this.named.get(what) ?? name;
    if (known === name) this.record(name, schema);
    this.named.set(what, known);
    return `'${known}'`;
  }

  unionOf(choices, name) {
    const some = choices.filter(({ type }) => type !== 'null');
    const one = some.length === 1;
    const types = some.map((choice, index) => this.typeOf(choice, one ? name : `${name}${index + 1}`));
    const union = one ? types[0] : `Union[${[...new Set(types)].join(', ')}]`;
    return some.length < choices.length ? `Optional[${union}]` : union;
  }
}

const PLAIN = {
  string: () => 'str',
  number: () => 'float',
  integer: () => 'int',
  boolean: () => 'bool',
  object: (models, { additionalProperties }, name) => `Dict[str, ${models.typeOf(additionalProperties || {}, name)}]`,
};

function isClass(schema) {
  return isRecord(schema) && Object.keys(schema.properties).every(isName);
}

function isName(key) {
  return /^[A-Za-z_]\w*$/.test(key) && !KEYWORDS.has(key);
}

function isRecord({ type, properties }) {
  return type === 'object' && properties !== undefined;
}

function refOf(reference) {
  const name = reference.split('/').at(-1);
  return name === 'Json' ? 'Any' : `'${name}'`;
}

function literal(value) {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

function pascal(key) {
  return key.replaceAll(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());
}
