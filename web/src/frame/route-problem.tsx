import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { ProblemBlock } from '../parts/page-state.tsx'

/** A page that cannot be shown; the frame around it stays usable. */
export function RouteProblem({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = () => {
    reset()
    void router.invalidate()
  }
  return <ProblemBlock error={error} what="show this page" retry={retry} />
}
