/** The TypeScript type of a JSON Schema, for the words that the service's document uses. */
export function typeOf(schema) {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    const types = choices.map(typeOf);
    // Editors go on proposing the names that are listed when any other is allowed, too.
    const open = types.includes('string') && types.some((type) => type.includes('"'));
    return types.map((type) => (open && type === 'string' ? '(string & {})' : type)).join(' | ');
  }
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ');
  return PLAIN[schema.type]?.(schema) ?? 'unknown';
}

const PLAIN = {
  string: () => 'string',
  number: () => 'number',
  integer: () => 'number',
  boolean: () => 'boolean',
  null: () => 'null',
  array: ({ items = {} }) => `readonly (${typeOf(items)})[]`,
  object: objectOf,
};

/** Types that hold `undefined` already. */
const ANYTHING = new Set(['unknown', 'Json']);

function objectOf({ properties, required = [], additionalProperties }) {
  if (Object.keys(properties ?? {}).length === 0)
    return `Readonly<Record<string, ${typeOf(additionalProperties || {})}>>`;
  const members = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description === undefined ? '' : `/** ${schema.description.replaceAll('*/', '')} */\n`;
    const type = typeOf(schema);
    const optional = ANYTHING.has(type) ? `?: ${type}` : `?: ${type} | undefined`;
    return `${comment}readonly ${keyOf(name)}${required.includes(name) ? `: ${type}` : optional};`;
  });
  return `{ ${members.join('\n')} }`;
}

/** A property's name as it is written in a type. */
export function keyOf(name) {
  return /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
}
