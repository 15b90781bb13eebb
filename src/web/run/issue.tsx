import { useState } from 'preact/hooks';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { Markdown } from '../markdown/markdown.js';

/** What was asked: laid out, or letter by letter as models read it. */
export function Issue({ issue }: { readonly issue: EvidenceView['request']['issue'] }) {
  const [isRaw, setIsRaw] = useState(false);
  const { problem_statement: text } = issue;
  return (
    <section class="issue" aria-labelledby="issue-title">
      <p class="actions">
        <h2 id="issue-title">Issue</h2>
        <button
          type="button"
          aria-pressed={isRaw}
          onClick={() => {
            setIsRaw(!isRaw);
          }}
        >
          As written
        </button>
      </p>
      <div class="issue-text panel" tabIndex={0} role="region" aria-label="Problem statement">
        {text.trim() === '' && <p class="quiet">It has no text.</p>}
        {isRaw ? <pre class="text">{text}</pre> : <Markdown text={text} />}
      </div>
      <Environment issue={issue} />
    </section>
  );
}

function Environment({ issue: { environment } }: { readonly issue: EvidenceView['request']['issue'] }) {
  const { regression_files: files } = environment;
  return (
    <details>
      <summary>Its environment</summary>
      <dl class="facts">
        <dt>Image</dt>
        <dd>{environment.image}</dd>
        <dt>Folder</dt>
        <dd>{environment.workdir}</dd>
        <dt>Regression command</dt>
        <dd>{environment.regression_command ?? 'none'}</dd>
        <dt>Regression files</dt>
        <dd>{files.length === 0 ? 'those near the patches' : files.join(' ')}</dd>
      </dl>
    </details>
  );
}
