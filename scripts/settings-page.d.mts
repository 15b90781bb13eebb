import type { z } from 'zod';

export function settingsPage(settings: z.ZodObject): string;
