import type { FileEdit } from '../../../src/agent/tools/action.js';
import { executeBash } from '../../../src/agent/tools/execute-bash.js';
import { extractPatch, type ExtractedPatch } from '../../../src/agent/loop/extract-patch.js';
import { fileEditor } from '../../../src/agent/tools/perform.js';
import { search } from '../../../src/agent/tools/search.js';
import type { ToolOutcome } from '../../../src/agent/tools/tool-outcome.js';
import { Workspace } from '../../../src/agent/tools/workspace.js';
import { dockerSandbox, go, spec } from '../sandbox/docker-harness.js';

/** An agent's container of the fixture image, with the tools bound to it. */
export interface AgentWorld extends AsyncDisposable {
  readonly workspace: Workspace;
  bash(command: string): Promise<ToolOutcome>;
  edit(edit: Partial<FileEdit> & Pick<FileEdit, 'command' | 'path'>): Promise<string>;
  search(term: string, path?: string): Promise<string>;
  patch(): Promise<ExtractedPatch>;
}

export async function agentWorld(actionS = 20, asR2e = false): Promise<AgentWorld> {
  const sandbox = dockerSandbox();
  const workspace = await Workspace.open(sandbox, { spec: { ...spec, occupies: 'command' }, actionS, asR2e }, go);
  return {
    workspace,
    bash: (command) => executeBash(command, workspace, go),
    edit: async (edit) => (await fileEditor({ tool: 'file_editor', ...edit }, workspace, go)).text,
    search: async (term, path = '.') => (await search(term, path, workspace, go)).text,
    patch: () => extractPatch(workspace, go),
    [Symbol.asyncDispose]: () => sandbox.closeAll(),
  };
}
