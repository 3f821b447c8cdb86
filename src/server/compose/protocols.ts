import type { FastifyInstance } from 'fastify'
import type { Part } from '../platform/lifecycle.ts'
import { composeA2a } from './a2a.ts'
import { composeAgUi } from './ag-ui.ts'
import { composeDialects } from './dialects.ts'
import { composeOwnMcp } from './own-mcp.ts'

type Needs = Parameters<typeof composeDialects>[0] &
  Parameters<typeof composeA2a>[0] &
  Parameters<typeof composeAgUi>[0] &
  Omit<Parameters<typeof composeOwnMcp>[0], 'log'>

/** The protocols of others over agents and sessions: Managed Agents, opencode, A2A, AG-UI, and `/mcp/switchyard`. */
export function composeProtocols(needs: Needs) {
  const dialects = composeDialects(needs)
  const a2a = composeA2a(needs)
  const agUi = composeAgUi(needs)
  const ownMcp = composeOwnMcp({ ...needs, log: a2a.log })

  const parts: readonly Part[] = [...dialects.parts, ...a2a.parts]
  return {
    parts,
    serve(app: FastifyInstance) {
      for (const { serve } of [dialects, a2a, agUi, ownMcp]) serve(app)
    },
  }
}
