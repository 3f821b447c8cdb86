import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../../data/client.ts'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { bodiesQuery, callQuery } from './queries.ts'

interface Props {
  readonly requestId: string
  /** Recorded, and the person may read them. */
  readonly hasBodies: boolean
}

/** Request and answer of a call, if they are recorded. */
export function CallBodies({ requestId, hasBodies }: Props) {
  const isAdmin = useIsAdmin()
  const [isOpen, setOpen] = useState(false)
  return (
    <Stack gap="sm">
      <Title order={3}>Request and answer</Title>
      {hasBodies ? (
        <>
          <Group gap="sm">
            {!isOpen && (
              <Button variant="default" onClick={() => setOpen(true)}>
                Show request and answer
              </Button>
            )}
            <DeleteBodies requestId={requestId} />
          </Group>
          {isOpen ? (
            <Bodies requestId={requestId} />
          ) : (
            <Text size="sm" c="dimmed">
              The audit log records who reads them.
            </Text>
          )}
        </>
      ) : (
        <Text size="sm" c="dimmed">
          {isAdmin
            ? 'Not stored. The service records requests and answers only where log_bodies is set, on a key or a model, and deletes them after their retention.'
            : 'Only administrators read recorded requests and answers.'}
        </Text>
      )}
    </Stack>
  )
}

function Bodies({ requestId }: { readonly requestId: string }) {
  const { data, error, refetch } = useQuery(bodiesQuery(requestId))
  if (!data) {
    return error ? <ProblemBlock error={error} what="load the bodies" retry={() => void refetch()} /> : <Loading />
  }
  const { request, response } = data
  return (
    <>
      <Side title="Request" what="request" side={request} />
      <Side title={`Answer, status ${response.status ?? 'none'}`} what="answer" side={response} />
    </>
  )
}

interface SideProps {
  readonly title: string
  readonly what: string
  readonly side: { readonly content_type: string | null; readonly body: string | null; readonly truncated: boolean }
}

function Side({ title, what, side: { content_type: type, body, truncated } }: SideProps) {
  return (
    <section aria-label={title}>
      <Text size="sm" fw={600}>
        {title} {type !== null && <span className="soft">{type}</span>}
      </Text>
      {body === null ? (
        <Text size="sm" c="dimmed">
          Not text, so it was not stored.
        </Text>
      ) : (
        <CodeBlock text={indented(body)} what={what} />
      )}
      {truncated && (
        <Text size="sm" c="dimmed">
          The body is longer; the service stores the first 256 KB.
        </Text>
      )}
    </section>
  )
}

/** Returns JSON with indentation, other text as it is. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

function DeleteBodies({ requestId }: { readonly requestId: string }) {
  const [isAsked, setAsked] = useState(false)
  const queries = useQueryClient()
  const run = async () => {
    await client.usage.deleteBodies({ params: { request_id: requestId } })
    queries.removeQueries({ queryKey: bodiesQuery(requestId).queryKey })
    await queries.invalidateQueries({ queryKey: callQuery(requestId).queryKey })
  }
  return (
    <>
      <Button variant="default" c="var(--state-failed)" onClick={() => setAsked(true)}>
        Delete request and answer
      </Button>
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        question="Delete request and answer of this call?"
        consequence="They cannot be restored. The row of the call with its tokens and cost stays."
        action="Delete request and answer"
        run={run}
      />
    </>
  )
}
