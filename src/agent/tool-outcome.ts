/** What an action came to. */
export interface ToolOutcome {
  /** In words for the model, without the header that names the tool. */
  readonly text: string;
  readonly exitCode?: number;
  /** Whether doing it again rebuilds what it did to the container. */
  readonly repeat: boolean;
  /** The command took the container with it; it must be rebuilt from the actions before. */
  readonly lost?: true;
}

/** An outcome that changed nothing. */
export function told(text: string): ToolOutcome {
  return { text, repeat: false };
}
