import { accessExamples } from './access.ts'
import { agentExamples } from './agents.ts'
import { compatibilityExamples } from './compatibility.ts'
import { evaluationExamples } from './evaluations.ts'
import type { Examples } from './example.ts'
import { gatewayExamples } from './gateway.ts'
import { operationExamples } from './operations.ts'
import { sessionExamples } from './sessions.ts'
import { triggerExamples } from './triggers.ts'

/** Request examples of all operations that need more than their placeholders. */
export const examples: Examples = {
  ...gatewayExamples,
  ...agentExamples,
  ...sessionExamples,
  ...triggerExamples,
  ...evaluationExamples,
  ...accessExamples,
  ...operationExamples,
  ...compatibilityExamples,
}
