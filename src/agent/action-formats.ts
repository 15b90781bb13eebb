import type { ActionFormat } from './action-format.js';
import { bashFormat } from './format-bash.js';
import { toolsFormat } from './format-tools.js';
import { xmlFormat } from './format-xml.js';

export const FORMAT_NAMES = ['xml', 'tools', 'bash'] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

export const ACTION_FORMATS: Readonly<Record<FormatName, ActionFormat>> = {
  xml: xmlFormat,
  tools: toolsFormat,
  bash: bashFormat,
};
