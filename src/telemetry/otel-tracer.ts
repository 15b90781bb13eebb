import { type Attributes, context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { inRun } from '../core/async/concurrency.js';
import { BestkError } from '../core/errors/errors.js';
import { type Facts, type OpenPart, type Part, type PartKind, Tracer } from '../ports/telemetry.js';

/** Spans through OpenTelemetry's API; their cost is negligible unless the user loads an SDK with `--import`. */
export class OtelTracer extends Tracer {
  readonly #tracer;

  constructor(version: string) {
    super();
    this.#tracer = trace.getTracer('bestk', version);
  }

  override begin(part: Part): OpenPart {
    return new SpanOfPart(part, this.#start(part));
  }

  override async within<T>(part: Part, work: (open: OpenPart) => Promise<T>): Promise<T> {
    const span = this.#start(part);
    const open = new SpanOfPart(part, span);
    const inSpan = (): Promise<T> => context.with(trace.setSpan(context.active(), span), () => work(open));
    try {
      const result = await (part.kind === 'run' ? inRun(part.name, inSpan) : inSpan());
      open.end();
      return result;
    } catch (error) {
      open.end(error);
      throw error;
    }
  }

  /** A run starts a new trace, with a link to the request that asked for it, since that was answered long before. */
  #start(part: Part): Span {
    const asker = trace.getSpan(context.active());
    const isRun = part.kind === 'run';
    const options = {
      kind: part.kind === 'model-call' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      attributes: attributesOf(part.kind, { name: part.name, ...part.facts }),
      ...(isRun && asker !== undefined ? { links: [{ context: asker.spanContext() }] } : {}),
    };
    return this.#tracer.startSpan(spanName(part), options, isRun ? ROOT_CONTEXT : context.active());
  }
}

/** Ids of the current trace and span, for log lines; empty when none is recorded. */
export function traceIds(): { readonly trace_id?: string; readonly span_id?: string } {
  const span = trace.getSpan(context.active());
  if (span?.isRecording() !== true) return {};
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

class SpanOfPart implements OpenPart {
  #ended = false;

  constructor(
    private readonly part: Part,
    private readonly span: Span,
  ) {}

  note(facts: Facts): void {
    this.span.setAttributes(attributesOf(this.part.kind, facts));
  }

  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    if (error !== undefined) this.span.setStatus({ code: SpanStatusCode.ERROR }).setAttributes(errorOf(error));
    this.span.end();
  }
}

/** Only the kind of an error: its message may contain text from a model or a patch. */
function errorOf(error: unknown): Attributes {
  if (error instanceof BestkError) return { 'error.type': error.code };
  return { 'error.type': error instanceof Error ? error.name : '_OTHER' };
}

/*
 * OpenTelemetry's semantic conventions for generative AI (1.45, experimental): their package exports them only from its
 * incubating entry, so the strings are copied. Content (gen_ai.input.messages and the like) is left out on purpose.
 */
const MODEL_CALL: Readonly<Record<string, string>> = {
  name: 'gen_ai.request.model',
  provider: 'gen_ai.provider.name',
  max_tokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
  response_model: 'gen_ai.response.model',
  input_tokens: 'gen_ai.usage.input_tokens',
  cached_input_tokens: 'gen_ai.usage.cache_read.input_tokens',
  output_tokens: 'gen_ai.usage.output_tokens',
  server: 'server.address',
  port: 'server.port',
};
const TRAJECTORY: Readonly<Record<string, string>> = { name: 'gen_ai.agent.name', model: 'gen_ai.request.model' };

/** Attribute names by kind of part; any other fact becomes `bestk.…`. */
const NAMES: Readonly<Partial<Record<PartKind, Readonly<Record<string, string>>>>> = {
  run: { name: 'bestk.run.id', instance: 'bestk.instance.id' },
  stage: { name: 'bestk.stage' },
  trajectory: TRAJECTORY,
  verdict: { name: 'bestk.measure' },
  suite: { name: 'bestk.suite' },
  'model-call': MODEL_CALL,
  container: { name: 'bestk.container.purpose', image: 'container.image.name' },
};
const ALWAYS: Readonly<Partial<Record<PartKind, Attributes>>> = {
  trajectory: { 'gen_ai.operation.name': 'invoke_agent' },
  'model-call': { 'gen_ai.operation.name': 'chat' },
};

export function attributesOf(kind: PartKind, facts: Facts): Attributes {
  const names = NAMES[kind] ?? {};
  const told: Attributes = { ...ALWAYS[kind] };
  for (const [fact, value] of Object.entries(facts)) {
    if (fact === 'finish_reason') told['gen_ai.response.finish_reasons'] = [String(value)];
    else if (value !== undefined) told[names[fact] ?? `bestk.${fact}`] = value;
  }
  return told;
}

/** Span names have few values; ids are attributes. `chat MODEL` and `invoke_agent AGENT` follow the conventions. */
export function spanName({ kind, name }: Part): string {
  if (kind === 'model-call') return `chat ${name}`;
  if (kind === 'trajectory') return `invoke_agent ${name}`;
  return kind === 'run' ? 'run' : `${kind} ${name}`;
}
