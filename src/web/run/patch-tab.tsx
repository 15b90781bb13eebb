import { useMemo, useState } from 'preact/hooks';
import type { CandidateEvidence } from '../../http/runs/evidence-view.js';
import { type ApiProblem, problemOf, request, runPath, saveAs } from '../api.js';
import { bytes, count } from '../format.js';
import { Loading, Notice, Problem, useAnswer } from '../notice.js';
import { FileDiff } from './file-diff.js';
import { readDiff } from './diff-model.js';

/** The most characters of a patch that are shown; the rest can be downloaded. */
const MOST_CHARACTERS = 500_000;
/** Files after these are collapsed. */
const OPEN_FILES = 10;

interface Props {
  readonly runId: string;
  readonly candidate: CandidateEvidence;
}

export function PatchTab({ runId, candidate }: Props) {
  // A running rollout is known only from its events, and has no patch to request yet.
  if (candidate.patch.characters === 0) {
    return <Notice>The patch is empty: the rollout changed nothing or is still running.</Notice>;
  }
  return <Patch runId={runId} candidate={candidate} />;
}

function Patch({ runId, candidate }: Props) {
  const path = runPath(runId, 'candidates', candidate.candidate_id, 'patch');
  const { data: text, problem, reload } = useAnswer(path, beginning);
  const [failed, setFailed] = useState<ApiProblem | null>(null);
  const [isWide, setIsWide] = useState(() => window.matchMedia('(min-width: 64em)').matches);
  if (problem !== null) return <Problem problem={problem} retry={reload} />;
  if (text === null) return <Loading what="the patch" />;
  const download = async (): Promise<void> => {
    try {
      saveAs(await (await request(path)).blob(), `${candidate.candidate_id}.diff`);
      setFailed(null);
    } catch (error) {
      setFailed(problemOf(error));
    }
  };
  return (
    <>
      <p class="actions">
        <button type="button" onClick={() => void download()}>
          Download this patch
        </button>
        <button
          type="button"
          aria-pressed={isWide}
          onClick={() => {
            setIsWide(!isWide);
          }}
        >
          Side by side
        </button>
      </p>
      {failed !== null && <Problem problem={failed} />}
      <PatchText text={text} candidate={candidate} isWide={isWide} />
    </>
  );
}

interface TextProps extends Pick<Props, 'candidate'> {
  readonly text: string;
  readonly isWide: boolean;
}

/** @param text may be only the beginning of the patch */
export function PatchText({ text, candidate: { patch }, isWide }: TextProps) {
  const files = useMemo(() => readDiff(text), [text]);
  const roles = new Map(patch.files.map(({ path, role }) => [path, role]));
  // Too large for the service to parse in good time, or refused.
  const isListed = patch.files.length > 0;
  return (
    <>
      {!isListed && patch.problem === null && patch.sha256 !== null && (
        <Notice>The patch is too large to be listed: which files are set apart is not shown.</Notice>
      )}
      {patch.problem !== null && <Notice>The patch is not applied: {patch.problem}.</Notice>}
      {text.length < patch.characters && (
        <Notice>
          The patch is long: the first {bytes(text.length)} of {bytes(patch.characters)} are shown. Download it to see
          the rest.
        </Notice>
      )}
      {text.trim() !== '' && files.length === 0 && (
        <pre class="text" tabIndex={0} aria-label="The patch as plain text">
          {text.slice(0, 20_000)}
        </pre>
      )}
      {files.slice(0, 200).map((file, index) => (
        <FileDiff
          key={index}
          file={file}
          role={isListed ? (roles.get(file.name) ?? null) : 'source'}
          isOpen={index < OPEN_FILES}
          isWide={isWide}
        />
      ))}
      {files.length > 200 && <Notice>{count(files.length - 200)} more files are in the download.</Notice>}
    </>
  );
}

/** The part of a text that is shown; the rest is not fetched. */
async function beginning(path: string, signal: AbortSignal): Promise<string> {
  const { body } = await request(path, { signal });
  if (body === null) return '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (text.length < MOST_CHARACTERS) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
  await reader.cancel();
  return text.slice(0, MOST_CHARACTERS);
}
