import { useMayChange } from '../../../data/sign-in.tsx'
import { Empty, Loading } from '../../../parts/page-state.tsx'
import css from './transcript.module.css'

interface Props {
  readonly isLoading: boolean
  readonly hasWaiting: boolean
}

/** In place of a transcript without rows: it is loading, or has no message. */
export function NoRows({ isLoading, hasWaiting }: Props) {
  const mayChange = useMayChange()
  return (
    <div className={css.area}>
      {isLoading && <Loading />}
      {!isLoading && !hasWaiting && (
        <Empty title="No messages yet" link={<a href="/docs">API reference</a>}>
          The agent starts with the first message.
          {mayChange && ' Write it below, or send it over the API.'}
        </Empty>
      )}
    </div>
  )
}
