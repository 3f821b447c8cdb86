import type { Degradation } from '../core/degradations.ts'

/** What a deny table takes out of a request. */
export interface Denied {
  /** The `anthropic-beta` header that is left; undefined when nothing is. */
  readonly beta: string | undefined
  /** Fields of the body to remove, as dotted paths. */
  readonly fields: readonly string[]
  /** The betas that were removed. Of the fields only those are listed that were there: the editor of the body knows. */
  readonly degraded: readonly Degradation[]
}

const headerMark = 'header:'

/** The fields of the body that are refused without the beta they belong to: one half alone is a 400. */
const bodyHalves: Readonly<Record<string, readonly string[]>> = {
  'context-management-2025-06-27': ['context_management'],
  'fast-mode-2026-02-01': ['speed'],
  'fine-grained-tool-streaming-2025-05-14': ['tools.eager_input_streaming'],
  'mcp-client-2025-04-04': ['mcp_servers'],
  'mcp-client-2025-11-20': ['mcp_servers'],
  'prompt-caching-scope-2026-01-05': [
    'cache_control.scope',
    'system.cache_control.scope',
    'tools.cache_control.scope',
    'messages.content.cache_control.scope',
  ],
  'skills-2025-10-02': ['container'],
  'structured-outputs-2025-11-13': ['output_format', 'output_config.format', 'tools.strict'],
  'structured-outputs-2025-12-15': ['output_format', 'output_config.format', 'tools.strict'],
}

/**
 * Reads a table of dotted paths and `header:<beta>` against the betas of a request. A beta that goes takes its half of
 * the body with it. Source: Gateway, section 2.1.
 */
export function deniedOf(beta: string | undefined, table: readonly string[]): Denied {
  const betas = (beta ?? '').split(',').flatMap(name => name.trim() || [])
  const refused = betas.filter(name => table.includes(`${headerMark}${name}`))
  const kept = betas.filter(name => !refused.includes(name))
  return {
    // Untouched, it goes on exactly as it came.
    beta: refused.length === 0 ? beta : kept.join(',') || undefined,
    fields: [
      ...table.filter(entry => !entry.startsWith(headerMark)),
      ...refused.flatMap(name => (Object.hasOwn(bodyHalves, name) ? (bodyHalves[name] ?? []) : [])),
    ],
    degraded: refused.map(name => ({ path: `header.anthropic-beta.${name}`, action: 'dropped' })),
  }
}
