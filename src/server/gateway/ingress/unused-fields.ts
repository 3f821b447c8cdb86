import { isAbsent, type Json } from '../../platform/json.ts'
import type { Note } from './settings.ts'

/** Values that ask for nothing. */
const idle: Readonly<Record<string, readonly unknown[]>> = {
  n: [1],
  logprobs: [false],
  presence_penalty: [0],
  frequency_penalty: [0],
  store: [false],
  background: [false],
  service_tier: ['auto', 'default'],
  verbosity: ['medium'],
  truncation: ['disabled'],
  top_logprobs: [0],
}

/** Takes down every field of `request` that was given, asks for something and was not used. */
export function noteUnused(request: Json, used: ReadonlySet<string>, note: Note): void {
  for (const [name, value] of Object.entries(request)) {
    if (isAbsent(value) || used.has(name) || idle[name]?.includes(value)) continue
    note(name.replaceAll(/[^\w.-]/g, '_').slice(0, 60))
  }
}
