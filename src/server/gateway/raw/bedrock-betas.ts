const toolSearch = 'tool-search-tool-2025-10-19'

/** How a request names a tool that searches for tools. */
const toolSearchType = Buffer.from('tool_search_tool_')

/**
 * The betas of a request as Bedrock names them. The one of advanced tool use holds more there than Bedrock has; of its
 * parts tool search has a name of its own.
 */
export function bedrockBetas(beta: string | undefined, body: Buffer): string | undefined {
  if (beta === undefined || !body.includes(toolSearchType)) return beta
  return beta
    .split(',')
    .map(name => (name.trim() === 'advanced-tool-use-2025-11-20' ? toolSearch : name))
    .join(',')
}

/** The members of the body's `anthropic_beta`: what the header says, behind what the body says already. */
export function betaList(beta: string | undefined, given: unknown): readonly string[] {
  const own = (Array.isArray(given) ? given : []).filter(name => typeof name === 'string')
  const names = (beta ?? '').split(',').map(name => name.trim())
  return [...new Set([...own, ...names])].filter(name => name !== '')
}
