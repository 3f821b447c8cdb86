import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import type { UsageCall } from '../../../../src/contract/usage.ts'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { Id } from '../../parts/copy.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import css from './playground.module.css'
import { recordedCallQuery } from './queries.ts'
import { emptyForm } from './wire/form.ts'
import { CannotLoad, type LoadedCall, loadForm } from './wire/load-form.ts'

interface Props {
  readonly requestId: string
  readonly onLoad: (call: LoadedCall, requestId: string) => void
  readonly onClose: () => void
}

/** Fills the form from a logged call, or says why it cannot. */
export function LoadCall(props: Props) {
  if (useIsAdmin()) return <Loader {...props} />
  return (
    <Notice onClose={props.onClose}>
      Only administrators read recorded requests. Sign in with the master key or a key of role admin to load call{' '}
      <Id id={props.requestId} what="request id" />.
    </Notice>
  )
}

function Loader({ requestId, onLoad, onClose }: Props) {
  const { data, error } = useQuery(recordedCallQuery(requestId))
  const load = useRef(onLoad)
  load.current = onLoad
  const read = data?.bodies && attempt(data.bodies)
  const isDone = useRef(false)
  useEffect(() => {
    if (!read || read instanceof CannotLoad || isDone.current) return
    isDone.current = true
    load.current(read, requestId)
  }, [read, requestId])
  if (error) {
    return (
      <Notice onClose={onClose}>
        <ProblemLine error={error} />
      </Notice>
    )
  }
  if (!data) {
    return (
      <Notice onClose={onClose}>
        Loading the request of call <Id id={requestId} what="request id" />.
      </Notice>
    )
  }
  if (!data.bodies) return <NotRecorded call={data.call} onClose={onClose} />
  if (!(read instanceof CannotLoad)) return null
  return (
    <Notice onClose={onClose}>
      Call <Id id={requestId} what="request id" /> cannot be repeated here: <SafeText text={read.message} />.
    </Notice>
  )
}

type Bodies = Parameters<typeof loadForm>

function attempt({ request, response }: { readonly request: Bodies[0]; readonly response: Bodies[1] }) {
  try {
    return loadForm(request, response, emptyForm)
  } catch (error) {
    if (error instanceof CannotLoad) return error
    throw error
  }
}

function NotRecorded({ call, onClose }: { readonly call: UsageCall; readonly onClose: () => void }) {
  return (
    <Notice onClose={onClose}>
      The request of this call of <SafeText text={call.model} /> is not recorded, or was deleted. The service records
      requests only where that is switched on. For calls to come:{' '}
      {call.key_id === null ? (
        <>
          set <code>log_bodies</code> in the parameters of <TextLink to="/console/models">the model</TextLink>; calls
          with the master key have no key to switch it on for.
        </>
      ) : (
        <>
          edit{' '}
          <TextLink to="/console/keys" search={{ open: call.key_id }}>
            the key
          </TextLink>
          , and set “Record bodies of calls until”.
        </>
      )}
    </Notice>
  )
}

/** A line above the form. */
export function Notice({ children, onClose }: { readonly children: ReactNode; readonly onClose: () => void }) {
  return (
    <div className={css.notice} role="status">
      <Text size="sm" component="div" className={css.grow ?? ''}>
        {children}
      </Text>
      <Button variant="subtle" size="compact-xs" onClick={onClose}>
        Close
      </Button>
    </div>
  )
}
