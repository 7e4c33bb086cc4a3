/* One row if one warehouse is attached; an error if there are several: a macro reads the current database, which need
   not be its own. */
create view store.only_warehouse as
select
    case
        when count(*) > 1
            then error('Several warehouses are attached, and a macro cannot tell which one is meant. Ask a view, as in '
                || 'from NAME.score_times or NAME.query_scores, or detach the others.')
        else true
    end as is_only  -- True.
from duckdb_views()
where schema_name = 'store' and view_name = 'only_warehouse';

