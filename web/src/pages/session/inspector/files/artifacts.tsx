import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ListedCheckpoint } from '../../../../../../src/contract/files.ts'
import { useAddress } from '../../../../parts/address.ts'
import { Loading, ProblemLine } from '../../../../parts/page-state.tsx'
import { OpenFile } from './file-content.tsx'
import { FileLine } from './file-tree.tsx'
import css from './files.module.css'
import { MomentSelect } from './moment-select.tsx'
import { artifactsQuery } from './queries.ts'

interface Props {
  readonly sessionId: string
  readonly checkpoints: readonly ListedCheckpoint[]
}

/** The files that runs of the session have written, with their whole paths. */
export function Artifacts({ sessionId, checkpoints }: Props) {
  const [{ path, at }, setAddress] = useAddress<'path' | 'at'>()
  const moment = { sessionId, at }
  const query = useInfiniteQuery(artifactsQuery(moment))
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  const found = data?.pages.flatMap(page => page.data) ?? []
  return (
    <>
      <MomentSelect
        label="Artifacts as of"
        first="The last step"
        checkpoints={checkpoints}
        value={at}
        onChange={next => setAddress({ at: next })}
      />
      {isPending && <Loading lines={3} />}
      <ProblemLine error={error} />
      {data && found.length === 0 && <p className="soft">The runs have written no files</p>}
      <ul className={css.tree}>
        {found.map(file => (
          <li key={file.path}>
            <FileLine entry={file} name={file.path} opened={path} onOpen={next => setAddress({ path: next.path })} />
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button variant="subtle" size="compact-xs" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Load more artifacts
        </Button>
      )}
      {path !== undefined && <OpenFile key={path} moment={moment} path={path} />}
    </>
  )
}
