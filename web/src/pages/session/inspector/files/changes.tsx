import { useQuery } from '@tanstack/react-query'
import type { FileChange, ListedCheckpoint } from '../../../../../../src/contract/files.ts'
import { useAddress } from '../../../../parts/address.ts'
import { plural } from '../../../../parts/format.ts'
import { Loading, ProblemBlock } from '../../../../parts/page-state.tsx'
import { SafeText } from '../../../../parts/safe-text.tsx'
import css from './files.module.css'
import { MomentSelect } from './moment-select.tsx'
import { PatchView } from './patch-view.tsx'
import { changesQuery } from './queries.ts'

interface Props {
  readonly sessionId: string
  readonly checkpoints: readonly ListedCheckpoint[]
}

/** What changed between any two checkpoints. */
export function Changes({ sessionId, checkpoints }: Props) {
  const [{ from, to }, setAddress] = useAddress<'from' | 'to'>()
  const { data, error, refetch } = useQuery(changesQuery(sessionId, from, to))
  return (
    <>
      <div className={css.between}>
        <MomentSelect
          label="From"
          first="The start of the session"
          checkpoints={checkpoints}
          value={from}
          onChange={next => setAddress({ from: next })}
        />
        <MomentSelect
          label="To"
          first="The last step"
          checkpoints={checkpoints}
          value={to}
          onChange={next => setAddress({ to: next })}
        />
      </div>
      {error && !data ? (
        <ProblemBlock error={error} what="compare the files" retry={() => void refetch()} />
      ) : data ? (
        <>
          <p className="soft">
            {data.data.length === 0 ? 'No file differs' : `${plural(data.data.length + data.more, 'file')} changed`}
          </p>
          {data.data.map(change => (
            <Change key={change.path} change={change} />
          ))}
          {data.more > 0 && (
            <p className="soft">{plural(data.more, 'more file')} not shown; choose closer checkpoints</p>
          )}
        </>
      ) : (
        <Loading />
      )}
    </>
  )
}

const omitted = {
  binary: 'Binary file',
  too_large: 'Too large to compare',
  not_a_file: 'Not a file',
} as const

function Change({ change: { path, change, patch, patch_omitted: reason } }: { readonly change: FileChange }) {
  return (
    <section className={css.change} aria-label={path}>
      <div className={css.fileHead}>
        <span className="mono">
          <SafeText text={path} />
        </span>
        <span className="soft">{change}</span>
      </div>
      {patch === null ? <p className="soft">{reason === null ? 'No lines differ' : omitted[reason]}</p> : null}
      {patch !== null && <PatchView patch={patch} label={path} />}
    </section>
  )
}
