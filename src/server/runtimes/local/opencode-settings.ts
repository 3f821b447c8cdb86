import { memoryServer } from './memory-server.ts'
import type { Surroundings } from './programs.ts'

/** Provider of all gateway models in the configuration of an opencode that we start. */
export const ownProvider = 'switchyard'

/** Turn off downloads and update checks. Dialects: section 2.2. */
export const opencodeVariables = {
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
} as const

/** Converts policies by tool name to opencode's rules for the tools of our MCP server. */
export const memoryPermissions = <T>(byTool: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(byTool).map(([name, policy]) => [`${memoryServer}_${name}`, policy]))

/** Returns settings with which opencode uses one gateway model for everything. The caller adds permissions. */
export function opencodeSettings(
  { gatewayUrl, gatewayKey }: Pick<Surroundings, 'gatewayUrl' | 'gatewayKey'>,
  model: string,
) {
  const options = { baseURL: `${gatewayUrl}/v1`, apiKey: gatewayKey }
  const models = { [model]: { name: model, tool_call: true, limit: { context: 200_000, output: 16_000 } } }
  const name = `${ownProvider}/${model}`
  return {
    provider: { [ownProvider]: { npm: '@ai-sdk/anthropic', name: 'Switchyard', options, models } },
    model: name,
    small_model: name,
    share: 'disabled',
    autoupdate: false,
  }
}
