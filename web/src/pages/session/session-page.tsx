import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Page } from '../../parts/page.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { sessionQuery } from './queries.ts'
import { Viewer } from './viewer.tsx'

/** The page of one session. */
export function SessionPage() {
  const { sessionId = '' } = useParams({ strict: false })
  const { data, error, refetch } = useQuery(sessionQuery(sessionId))
  if (data) return <Viewer key={sessionId} session={data} />
  return (
    <Page title="Session">
      {error ? <ProblemBlock error={error} what="load the session" retry={() => void refetch()} /> : <Loading />}
    </Page>
  )
}
