import type { Examples } from './example.ts'

/** Usage, audit and kill switches. */
export const operationExamples: Examples = {
  'system.home': { notRun: 'answers with a redirect' },
  'system.openapi': { notRun: 'the response is this document' },
  'usage.report': { query: { group_by: 'model', from: '2026-01-01' } },
  'usage.calls': { query: { agent_id: '{agent_id}', limit: 2 } },
  'usage.bodies': { notRun: 'needs recorded bodies, which are off by default' },
  'usage.deleteBodies': { notRun: 'needs recorded bodies, which are off by default' },
  'controls.stop': { body: { session_id: '{session_id}', reason: 'runs in a loop' } },
  'controls.freeze': { body: { owner: 'ana', reason: 'unexpected cost' } },
}
