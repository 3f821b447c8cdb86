import type { RuntimeHarness } from '../../../../src/contract/runtimes.ts'
import { StatePill } from '../../parts/state-pill.tsx'

/** Whether sessions can run on a runtime. */
export function RuntimeState({ runtime: { connected, last_error: error } }: { readonly runtime: RuntimeHarness }) {
  if (error !== null) return <StatePill state="failed" word={connected ? 'last test failed' : 'cannot be used'} />
  return connected ? <StatePill state="done" word="connected" /> : <StatePill state="stopped" word="not connected" />
}

/** Protocols that can be registered here. Programs of `acp` need the configuration file. */
export const protocols = [
  { value: 'opencode', label: 'opencode' },
  { value: 'claude_managed_agents', label: 'Claude Managed Agents' },
  { value: 'cursor', label: 'Cursor' },
  { value: 'a2a', label: 'Agent2Agent (A2A)' },
] as const

/** Capability flags in words. */
const capabilities: Readonly<Record<string, string>> = {
  streaming: 'streams its answers',
  interrupt: 'can be interrupted',
  steer: 'reads prompts while it runs',
  approvals: 'asks for approval',
  files: 'shows files of sessions',
  files_in: 'takes files in prompts',
  resume: 'continues after a restart',
  cost: 'reports its cost',
  model_per_prompt: 'changes the model between prompts',
  compaction: 'compacts long conversations',
  typed_results: 'returns typed results',
  replay: 'replays recorded tool results',
  outcomes: 'works until a grader is satisfied',
}

export const capabilityWords = (flag: string): string => capabilities[flag] ?? flag.replaceAll('_', ' ')
