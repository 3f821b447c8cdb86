import { lazy, Suspense } from 'react'

const Words = lazy(() => import('./cron-text.tsx').then(({ CronText }) => ({ default: CronText })))

/** A cron expression in words: `At 09:30, Monday through Friday`. The expression itself until the words are loaded. */
export function CronWords({ cron }: { readonly cron: string }) {
  return (
    <Suspense fallback={<span className="mono">{cron}</span>}>
      <Words cron={cron} />
    </Suspense>
  )
}
