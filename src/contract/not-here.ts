/** Paths of the Managed Agents dialect that the service does not serve, with the alternative. */
const instead: readonly (readonly [path: RegExp, alternative: string])[] = [
  [/^\/v1\/vaults\/[^/]+\/credentials\/[^/]+\/mcp_oauth_validate$/, 'use POST /v1/mcp/server/{server_id}/test'],
]

/** Returns the alternative to a path, which may have ids after it; undefined when there is none. */
export const insteadOf = (path: string): string | undefined => instead.find(([known]) => known.test(path))?.[1]
