import { useQuery } from '@tanstack/react-query'
import { serviceQuery } from '../data/service.ts'
import { ReadOnly } from './page-state.tsx'

/** Says that an object comes from the configuration file of the service, by the name of the file. For administrators. */
export function InConfigFile() {
  const { data } = useQuery(serviceQuery)
  return <ReadOnly file={data?.config_file ?? 'the configuration file'} />
}
