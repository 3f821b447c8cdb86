import { createOutbound, refusalFor } from '../platform/outbound.ts'
import type { ConfiguredHarness, Deployment, Hook, WorkspaceBucket } from './config.ts'

/** What an operator should know about deployments that will not work, or not safely, as they stand. */
export function modelWarnings(deployments: readonly Deployment[], allow: readonly string[]): string[] {
  const { judge, lists } = createOutbound({ allow })
  const warnings = deployments.flatMap(deployment => {
    const { alias, apiBase, apiKey } = deployment
    const refusal = judge(apiBase)
    if (refusal !== undefined) return [`model ${alias}: ${refusal}`]
    const isOpenText = apiBase.startsWith('http:') && !lists(apiBase)
    return isOpenText && apiKey !== undefined
      ? [`model ${alias}: api_base is not https, its key travels in clear text`]
      : []
  })
  return [...new Set(warnings)]
}

/** The same of harnesses. One whose address is refused is listed, but cannot be used. */
export function harnessWarnings(harnesses: readonly ConfiguredHarness[], allow: readonly string[]): string[] {
  const { judge, lists } = createOutbound({ allow })
  return harnesses.flatMap(({ alias, apiBase }) => {
    if (apiBase === '') return []
    const refusal = judge(apiBase)
    if (refusal !== undefined) return [`runtime ${alias}: ${refusal}`]
    if (apiBase.startsWith('https:') || lists(apiBase)) return []
    return [`runtime ${alias}: api_base is not https; it is not called unless its host and port are in outbound.allow`]
  })
}

/** The same of hooks. Prompts do not go to one whose address is refused: its `on_error` decides about each call. */
export function hookWarnings(hooks: readonly Hook[], allow: readonly string[]): string[] {
  const outbound = createOutbound({ allow })
  return hooks.flatMap(({ name, url }) => {
    const refusal = refusalFor(url, outbound)
    return refusal === undefined ? [] : [`hook ${name}: ${refusal}`]
  })
}

/** The same of the bucket of workspaces: without it no files are stored. */
export function bucketWarnings(bucket: WorkspaceBucket | undefined, allow: readonly string[]): string[] {
  const refusal = bucket && refusalFor(bucket.endpoint, createOutbound({ allow }))
  return refusal === undefined ? [] : [`workspaces.s3: ${refusal}`]
}
