import { existsSync } from 'node:fs'
import { join } from 'node:path'

const modules = join(import.meta.dirname, '../clients/node_modules')

const places = {
  'Claude Code': '@anthropic-ai/claude-code/bin/claude.exe',
  Codex: '@openai/codex/bin/codex.js',
  opencode: 'opencode-linux-x64-baseline/bin/opencode',
} as const

/** The executable of a real program that the tests drive. Throws when it is not installed. */
export function clientProgram(name: keyof typeof places): string {
  const path = join(modules, places[name])
  if (existsSync(path)) return path
  throw new Error(`${name} is missing at ${path}: run "npm ci" in test/clients (install scripts must be allowed)`)
}
