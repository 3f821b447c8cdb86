import { ProblemBlock } from '../parts/page-state.tsx'

/** The service did not say who has signed in. */
export function StartProblem({ error, retry }: { readonly error: Error; readonly retry: () => void }) {
  return (
    <main>
      <ProblemBlock error={error} what="reach the service" retry={retry} />
    </main>
  )
}
