import { createOutbound } from '../platform/outbound.ts'
import type { Deployment } from './config.ts'

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
