import { createOutbound } from '../platform/outbound.ts'
import type { Deployment } from './config.ts'

/** What an operator should know about deployments that will not work, or not safely, as they stand. */
export function modelWarnings(deployments: readonly Deployment[], allow: readonly string[]): string[] {
  const { judge } = createOutbound({ allow })
  const warnings = deployments.flatMap(deployment => {
    const { alias, apiBase, apiKey } = deployment
    const refusal = judge(apiBase)
    if (refusal !== undefined) return [`model ${alias}: ${refusal}`]
    const isOpenText = apiBase.startsWith('http:') && !allow.includes(hostPort(apiBase))
    return isOpenText && apiKey !== undefined
      ? [`model ${alias}: api_base is not https, its key travels in clear text`]
      : []
  })
  return [...new Set(warnings)]
}

function hostPort(base: string): string {
  const { hostname, port } = new URL(base)
  return `${hostname}:${port || '80'}`
}
