import { lazy, Suspense } from 'react'
import css from './diff-view.module.css'

const Compared = lazy(() => import('./diff-compared.tsx').then(({ DiffCompared }) => ({ default: DiffCompared })))

interface Props {
  readonly before: string
  readonly after: string
  /** What is compared, for screen readers: `Changes of the prompt`. */
  readonly label: string
}

/** The difference of two texts, line by line. */
export function DiffView(props: Props) {
  return (
    <Suspense fallback={<div className={css.pending}>Comparing…</div>}>
      <Compared {...props} />
    </Suspense>
  )
}
