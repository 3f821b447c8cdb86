import type { Degradation } from '../core/degradations.ts'

/** What a deny table removes from a request. */
export interface Denied {
  /** The remaining `anthropic-beta` header; undefined when it is empty. */
  readonly beta: string | undefined
  /** Fields of the body to remove, as dotted paths. */
  readonly fields: readonly string[]
  /** The removed betas. Removed fields are reported by the body editor, which knows which of them existed. */
  readonly degraded: readonly Degradation[]
}

const headerMark = 'header:'

/** Body fields that an upstream rejects with 400 without the beta that they belong to. */
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
 * Applies a table of dotted paths and `header:<beta>` entries to the betas of a request. Removing a beta also removes
 * its body fields. Source: Gateway, section 2.1.
 */
export function deniedOf(beta: string | undefined, table: readonly string[]): Denied {
  const betas = (beta ?? '').split(',').flatMap(name => name.trim() || [])
  const denied = betas.filter(name => table.includes(`${headerMark}${name}`))
  const allowed = betas.filter(name => !denied.includes(name))
  return {
    // Without a denied beta the header is forwarded unchanged.
    beta: denied.length === 0 ? beta : allowed.join(',') || undefined,
    fields: [
      ...table.filter(entry => !entry.startsWith(headerMark)),
      ...denied.flatMap(name => (Object.hasOwn(bodyHalves, name) ? (bodyHalves[name] ?? []) : [])),
    ],
    degraded: denied.map(name => ({ path: `header.anthropic-beta.${name}`, action: 'dropped' })),
  }
}
