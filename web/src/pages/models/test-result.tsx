import type { ProviderTest } from '../../../../src/contract/providers.ts'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'

/** Whether the provider accepted the credential, and what it said otherwise. */
export function TestResult({ result: { ok, latency_ms: ms, error = '' } }: { readonly result: ProviderTest }) {
  return (
    <div role="status">
      {ok ? (
        <StatePill state="done" word="credential accepted" detail={`in ${ms} ms`} />
      ) : (
        <>
          <StatePill state="failed" word="test failed" />
          <div style={{ overflowWrap: 'anywhere' }}>
            <SafeText text={error} />
          </div>
        </>
      )}
    </div>
  )
}
