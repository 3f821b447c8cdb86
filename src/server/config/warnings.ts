import { blockedReasonFor, createOutbound } from '../platform/outbound.ts'
import type {
  ConfiguredHarness,
  ConfiguredMcpServer,
  GitHost,
  WebSearchSettings,
  WorkspaceBucket,
} from './agent-settings.ts'
import type { Hook, OidcSettings } from './config.ts'
import type { Deployment } from './deployments.ts'
import type { LogSinkSettings } from './export-settings.ts'

/** Returns warnings about deployments with blocked or insecure addresses. */
export function modelWarnings(deployments: readonly Deployment[], allow: readonly string[]): string[] {
  const { judge, lists } = createOutbound({ allow })
  const warnings = deployments.flatMap(deployment => {
    const { alias, apiBase, apiKey } = deployment
    const reason = judge(apiBase)
    if (reason !== undefined) return [`model ${alias}: ${reason}`]
    const isPlaintext = apiBase.startsWith('http:') && !lists(apiBase)
    return isPlaintext && apiKey !== undefined
      ? [`model ${alias}: api_base is not https, so its key is sent in plaintext`]
      : []
  })
  return [...new Set(warnings)]
}

/** Returns warnings about runtimes with blocked addresses, which are listed but cannot be used. */
export function harnessWarnings(harnesses: readonly ConfiguredHarness[], allow: readonly string[]): string[] {
  const { judge, lists } = createOutbound({ allow })
  return harnesses.flatMap(({ alias, apiBase }) => {
    if (apiBase === '') return []
    const reason = judge(apiBase)
    if (reason !== undefined) return [`runtime ${alias}: ${reason}`]
    if (apiBase.startsWith('https:') || lists(apiBase)) return []
    return [
      `runtime ${alias}: api_base is not https; the runtime is disabled unless its host and port are in outbound.allow`,
    ]
  })
}

/** Returns warnings about MCP servers with blocked addresses, which are listed but cannot be called. */
export function mcpServerWarnings(servers: readonly ConfiguredMcpServer[], allow: readonly string[]): string[] {
  const outbound = createOutbound({ allow })
  return servers.flatMap(({ serverName, url, stdio }) => {
    const reason = stdio ? undefined : blockedReasonFor(url, outbound)
    return reason === undefined ? [] : [`MCP server ${serverName}: ${reason}`]
  })
}

/** Returns warnings about hooks with blocked addresses, which are never called: `on_error` decides about each call. */
export function hookWarnings(hooks: readonly Hook[], allow: readonly string[]): string[] {
  const outbound = createOutbound({ allow })
  return hooks.flatMap(({ name, url }) => {
    const reason = blockedReasonFor(url, outbound)
    return reason === undefined ? [] : [`hook ${name}: ${reason}`]
  })
}

/** Returns warnings about log sinks with blocked addresses, which get no rows until the address is allowed. */
export function logSinkWarnings(sinks: readonly LogSinkSettings[], allow: readonly string[]): string[] {
  const outbound = createOutbound({ allow })
  return sinks.flatMap(sink => {
    const reason = sink.type === 'file' ? undefined : blockedReasonFor(sink.url, outbound)
    return reason === undefined ? [] : [`log sink ${sink.name}: ${reason}`]
  })
}

/** Returns a warning if the address of the workspace bucket is blocked; no files are stored then. */
export function bucketWarnings(bucket: WorkspaceBucket | undefined, allow: readonly string[]): string[] {
  const reason = bucket && blockedReasonFor(bucket.endpoint, createOutbound({ allow }))
  return reason === undefined ? [] : [`workspaces.s3: ${reason}`]
}

/** Returns warnings about single sign-on with a blocked provider, or one that lets everybody in. */
export function signInWarnings(oidc: OidcSettings | undefined, allow: readonly string[]): string[] {
  if (!oidc) return []
  const reason = blockedReasonFor(oidc.issuer, createOutbound({ allow }))
  return [
    ...(reason === undefined ? [] : [`sign_in.oidc: ${reason}`]),
    ...(oidc.allowedDomains || oidc.roles
      ? []
      : [
          `sign_in.oidc: everybody with an account at the identity provider can sign in as ${oidc.defaultRole}; set allowed_domains or roles unless that is intended`,
        ]),
  ]
}

/** Returns a warning if the address of the search provider is blocked; every search fails then. */
export function webSearchWarnings(settings: WebSearchSettings | undefined, allow: readonly string[]): string[] {
  const isAddress = settings && URL.canParse(settings.apiBase)
  const reason = isAddress ? blockedReasonFor(settings.apiBase, createOutbound({ allow })) : undefined
  return reason === undefined ? [] : [`web_search: ${reason}`]
}

/** Returns warnings about hosts of repositories with a blocked API, where no pull request can be opened. */
export function gitHostWarnings(hosts: readonly GitHost[], allow: readonly string[]): string[] {
  const outbound = createOutbound({ allow })
  return hosts.flatMap(({ host, apiBase }) => {
    const reason = blockedReasonFor(apiBase, outbound)
    return reason === undefined ? [] : [`git host ${host}: ${reason}`]
  })
}
