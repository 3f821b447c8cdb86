import type { Provider } from '../../../../src/contract/providers.ts'
import { StatePill } from '../../parts/state-pill.tsx'

/** Whether models of a provider can be called. */
export function ProviderState({ provider: { connected, error } }: { readonly provider: Provider }) {
  if (error !== null) return <StatePill state="failed" word="credential not used" />
  return connected ? <StatePill state="done" word="connected" /> : <StatePill state="stopped" word="not connected" />
}
