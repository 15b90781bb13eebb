import { createHash } from 'node:crypto';
import type { NestApplication } from '@nestjs/core';
import type { Request, Response } from 'express';
import type { OpenApiDocument } from './document.js';

const STYLE = `:root{color-scheme:light dark;--ink:#1d1f23;--paper:#fff;--soft:#5c626b;--line:#d8dbe0;--panel:#f5f6f8;--link:#0b5c94}
@media(prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#16181c;--soft:#a7adb6;--line:#34383f;--panel:#20242a;--link:#7cc0f0}}
*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1rem;color:var(--ink);background:var(--paper)}
a,summary{color:var(--link)}code,pre,input{font:13px/1.45 ui-monospace,monospace}
pre{background:var(--panel);padding:.7rem;overflow:auto;border-radius:6px}pre:focus-visible{outline:2px solid var(--link)}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.1rem;margin:1.6rem 0 .3rem}h3{font-size:.9rem;margin:.8rem 0 .2rem}
details{border-bottom:1px solid var(--line);padding:.35rem 0}details>*:not(summary){margin-left:1rem}
summary{cursor:pointer;overflow-wrap:anywhere}summary span{color:var(--soft);display:block;margin-left:1.1rem}
input{width:100%;max-width:26rem;padding:.4rem .6rem;border:1px solid var(--soft);border-radius:6px;color:inherit;background:var(--paper)}
button{font:inherit;font-size:.85rem;padding:.15rem .6rem;border:1px solid var(--soft);border-radius:6px;color:inherit;background:var(--panel);cursor:pointer}
dl{margin:.2rem 0}dt{margin-top:.4rem;overflow-wrap:anywhere}dd{margin:0 0 0 1rem;overflow-wrap:anywhere}.soft{color:var(--soft)}[hidden]{display:none}
.try label{display:block;margin:.25rem 0}.try pre{max-height:30rem}input:focus-visible,button:focus-visible,summary:focus-visible,a:focus-visible{outline:2px solid var(--link);outline-offset:1px}`;

/** Opens the call in the address, filters by the search, copies examples, makes calls. */
const SCRIPT = `const all=[...document.querySelectorAll('details')],field=document.querySelector('[type=search]'),said=document.querySelector('[role=status]');
const open=()=>{const one=document.getElementById(decodeURIComponent(location.hash.slice(1)));if(one){one.hidden=false;one.open=true;one.scrollIntoView()}};
addEventListener('hashchange',open);open();
field.addEventListener('input',()=>{const words=field.value.toLowerCase().split(/\\s+/);let found=0;
for(const one of all){const text=one.textContent.toLowerCase();one.hidden=!words.every((word)=>text.includes(word));found+=one.hidden?0:1}
for(const part of document.querySelectorAll('section'))part.hidden=[...part.querySelectorAll('details')].every((one)=>one.hidden);
said.textContent=field.value===''?'':found+' found'});
for(const button of document.querySelectorAll('.copy'))button.addEventListener('click',async()=>{const text=button.previousElementSibling.textContent;
try{await navigator.clipboard.writeText(text);button.textContent='Copied'}catch{getSelection().selectAllChildren(button.previousElementSibling)}});
const key=document.getElementById('key'),most=100000;
const seen=(text)=>text.replace(/[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff]/g,(sign)=>'\u27e8U+'+sign.charCodeAt(0).toString(16).toUpperCase().padStart(4,'0')+'\u27e9');
const laidOut=(text)=>{try{return JSON.stringify(JSON.parse(text),null,2)}catch{return text}};
for(const form of document.querySelectorAll('.try'))form.addEventListener('submit',async(event)=>{event.preventDefault();
const [told,shown]=[form.querySelector('output'),form.querySelector('pre')],query=new URLSearchParams();let path=form.dataset.path;
for(const {name,value,dataset} of form.querySelectorAll('input'))if(dataset.in==='path')path=path.replace('{'+name+'}',()=>encodeURIComponent(value));else if(value!=='')query.append(name,value);
const address=path+(query.size===0?'':'?'+query),headers=key.value===''?{}:{Authorization:'Bearer '+key.value};
shown.hidden=true;told.textContent='GET '+address+' …';
try{const answer=await fetch(address,{headers}),text=await answer.text(),whole=laidOut(text);
told.textContent=answer.status+' '+answer.statusText+' · '+(answer.headers.get('content-type')??'')+(whole.length>most?' · the first '+most+' of '+whole.length+' characters':'');
shown.textContent=seen(whole.slice(0,most));shown.hidden=false}catch(error){told.textContent='No response: '+error.message}});`;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Content-Security-Policy of the page: its own style and script, and calls to this service. */
const DOCS_POLICY = `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

interface Field {
  readonly description?: string;
}
interface Described {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly {
    name: string;
    in: string;
    required?: boolean;
    description?: string;
    schema: unknown;
  }[];
  readonly requestBody?: { content: Content };
  readonly responses: Readonly<Record<string, { description: string; content?: Content }>>;
}
type Content = Readonly<Record<string, { schema: { $ref?: string }; 'x-event-data'?: { $ref?: string } }>>;

/** The document as a page that loads nothing; calls are grouped by resource, one open at a time. */
function docsPage({ info, paths, components }: OpenApiDocument): string {
  const groups = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(paths)) {
    const group = path.startsWith('/v1/') ? (path.split('/')[2] ?? '') : 'service';
    for (const [method, operation] of Object.entries(methods)) {
      const known = groups.get(group) ?? [];
      groups.set(group, [...known, call(method, path, operation as unknown as Described)]);
    }
  }
  const sections = [...groups].map(([group, calls]) => section(group, calls));
  const schemas = Object.entries(components.schemas).map(([name, schema]) => schemaOf(name, schema));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>bestk: HTTP</title><style>${STYLE}</style></head><body><main>
<p><a href="/">Viewer</a> · <a href="/openapi.json">openapi.json</a></p>
<h1>bestk ${escape(String(info.version))}: HTTP</h1>
<p>${escape(String(info.summary))} Except on loopback, every call needs a key: <code>Authorization: Bearer KEY</code> or <code>X-Api-Key: KEY</code>.
Every error is a <a href="#Problem">Problem</a>. Examples read the service’s address from <code>$BESTK</code> and the key from <code>$BESTK_API_KEY</code>.
Read-only calls can be made from this page.</p>
<p><label>API key for these calls <input id="key" type="password" autocomplete="off"></label> <span class="soft">kept only on this page, until you leave it</span></p>
<p><label>Search calls, fields and schemas <input type="search"></label> <span role="status" class="soft"></span></p>
${sections.join('\n')}
${section('schemas', schemas)}
</main><script>${SCRIPT}</script></body></html>
`;
}

function section(name: string, parts: readonly string[]): string {
  const title = `${name[0]?.toUpperCase() ?? ''}${name.slice(1)}`;
  return `<section aria-label="${escape(title)}"><h2>${escape(title)}</h2>\n${parts.join('\n')}</section>`;
}

function call(method: string, path: string, operation: Described): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const fields = parameters.map(
    ({ name, in: place, description: said = '', schema }) =>
      `<dt><code>${escape(name)}</code> <span class="soft">${place}</span></dt><dd>${escape(said)} <code>${escape(JSON.stringify(schema))}</code></dd>`,
  );
  const body = requestBody === undefined ? '' : `<h3>Body</h3><p>${contentOf(requestBody.content)}</p>`;
  const answers = Object.entries(responses).map(
    ([status, answer]) => `<dt>${status}</dt><dd>${escape(answer.description)} ${contentOf(answer.content ?? {})}</dd>`,
  );
  return `<details name="call" id="${escape(operationId)}"><summary><code>${method.toUpperCase()} ${escape(path)}</code><span>${markedUp(summary)}</span></summary>
<p>${markedUp(description)}</p>
<h3>Example</h3>${pre(curl(method, path, operation), `Example: ${operationId}`)}<button type="button" class="copy">Copy</button>
${tryOut(method, path, operation)}
${fields.length === 0 ? '' : `<h3>Parameters</h3><dl>${fields.join('')}</dl>`}${body}<h3>Responses</h3><dl>${answers.join('')}</dl></details>`;
}

/** A form that makes the call from the page; only for calls that change nothing and are not streams. */
function tryOut(method: string, path: string, { operationId, parameters, responses }: Described): string {
  if (method !== 'get' || isStream(responses)) return '';
  const fields = parameters
    .filter((parameter) => parameter.in !== 'header')
    .map(({ name, in: place, required }) => {
      const must = required === true ? ' required' : '';
      return `<label>${escape(name)} <input name="${escape(name)}" data-in="${place}" autocomplete="off"${must}></label>`;
    });
  return `<form class="try" data-path="${escape(path)}"><h3>Try it</h3>${fields.join('')}
<button type="submit">Execute</button> <output class="soft"></output>${pre('', `Response: ${operationId}`).replace('<pre', '<pre hidden')}</form>`;
}

function isStream(responses: Described['responses']): boolean {
  return Object.values(responses).some(({ content = {} }) => 'text/event-stream' in content);
}

/** The call as a curl command; ids and bodies are placeholders. */
function curl(method: string, path: string, { requestBody, responses }: Described): string {
  const [type] = Object.keys(requestBody?.content ?? {});
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  return [
    `curl -sS${isStream(responses) ? 'N' : ''}${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "$BESTK${address}"`,
    '-H "Authorization: Bearer $BESTK_API_KEY"',
    ...(type === undefined ? [] : [`-H 'Content-Type: ${type}'`, `--data-binary @${bodyFile(type)}`]),
  ].join(' \\\n  ');
}

function bodyFile(type: string): string {
  return type === 'application/json' ? 'request.json' : 'lines.jsonl';
}

function contentOf(content: Content): string {
  // Problems are explained once, at the top of the page.
  return Object.entries(content)
    .filter(([type]) => type !== 'application/problem+json')
    .map(([type, { schema, 'x-event-data': data }]) => {
      const name = (data ?? schema).$ref?.split('/').at(-1);
      return escape(type) + (name === undefined ? '' : ` <a href="#${escape(name)}">${escape(name)}</a>`);
    })
    .join(', ');
}

/** Descriptions of the fields, then the whole schema. */
function schemaOf(name: string, schema: Readonly<Record<string, unknown>>): string {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Field>);
  const fields = properties.map(
    ([field, { description = '' }]) => `<dt><code>${escape(field)}</code></dt><dd>${markedUp(description)}</dd>`,
  );
  return `<details name="call" id="${escape(name)}"><summary><code>${escape(name)}</code></summary>
${fields.length === 0 ? '' : `<dl>${fields.join('')}</dl>`}${pre(JSON.stringify(schema, null, 2), `Schema: ${name}`)}</details>`;
}

/** Scrollable by keyboard. */
function pre(text: string, label: string): string {
  return `<pre tabindex="0" role="region" aria-label="${escape(label)}">${escape(text)}</pre>`;
}

/** Text between backticks becomes code. */
function markedUp(text: string): string {
  return escape(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Serves the document at `/openapi.json` and as a page at `/docs`; both are created on first request. */
export function serveDocument(app: NestApplication, version: string): void {
  let made: Promise<{ document: string; page: string; policy: string }> | null = null;
  const make = async (): Promise<{ document: string; page: string; policy: string }> => {
    const { openApiDocument } = await import('./document.js');
    const document = openApiDocument(version);
    return { document: JSON.stringify(document), page: docsPage(document), policy: DOCS_POLICY };
  };
  const adapter = app.getHttpAdapter();
  adapter.get('/openapi.json', async (_request: Request, response: Response) => {
    response.type('application/json').send((await (made ??= make())).document);
  });
  adapter.get('/docs', async (_request: Request, response: Response) => {
    const { page, policy } = await (made ??= make());
    response.set('Content-Security-Policy', policy).type('text/html').send(page);
  });
}
