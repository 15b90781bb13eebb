/** Folder of the shipped example. */
export const EXAMPLE = 'examples/quickstart';

/** Settings of a run of the example whose report and store lie in `out`; its agent is stopped early. */
export function exampleEnvironment(out) {
  return {
    BESTK_AGENT_MODEL: 'bestk-example-agent',
    BESTK_VERIFIER_MODEL: 'bestk-example-judge',
    BESTK_AGENT_MAX_STEPS: '10',
    BESTK_AGENT_MAX_STEPS_ABSOLUTE: '12',
    DATABASE_URL: `file:${out}/store.sqlite`,
  };
}
