-- The vocabulary of the formulas: scalar and aggregate expressions that templates share, as DuckDB macros.
-- Each connection has them. One is a statement with a comment above it; it names none of the columns of a table.

-- A ratio with divisor 0 is null: undefined is never 0 by accident.
create temp macro ratio(numerator, denominator) as
    numerator / nullif(denominator, 0);

-- x^2, with the bits of a product.
create temp macro square(x) as
    x * x;

-- A sum in the order of `place`, so that threads cannot change its last bits; 0 if no row meets the condition.
create temp macro total(x, place) as
    coalesce(sum(x order by place), 0),
(x, condition, place) as
    coalesce(sum(x order by place) filter (where condition), 0);

-- Whether a rank is one of the first k; with k null, every rank is.
create temp macro within(rank, k) as
    k is null or rank <= k;

-- A number, but at most k; with k null, the number itself.
create temp macro at_most(number, k) as
    least(number, k);

-- A value rounded for comparison: doubles of one number, as (0.1 + 0.2 + 0.3) / 3 and 0.2, may differ in their last
-- bits. Gates compare the same number of digits (see warehouse/analyze/dataset_board.py).
create temp macro comparable(x) as
    round(x, 12);

-- Ends the statement with an error: the loaded data cannot be used. See warehouse/refusals.py.
create temp macro refuse(sentence) as
    error('refused: ' || sentence);

-- A hash of the members of a slice, whatever their order; md5 is the same in every engine.
create temp macro members_content(subject_id, part) as
    count(*) || '-' || sum(md5_number_lower(concat_ws(chr(31), subject_id, part)));

-- Whether a grade is whole and fits into 32 bits.
create temp macro is_whole(grade) as
    grade = trunc(grade) and grade between -2147483648 and 2147483647;

-- The hash of a judgment, or of a training example. A whole grade is hashed as the integer that it is, so that content
-- that was loaded before grades could be any number keeps its hash.
create temp macro judgment_hash(query_id, doc_id, relevance) as
    case
        when is_whole(relevance) then hash(query_id, doc_id, try_cast(relevance as integer))
        else hash(query_id, doc_id, relevance)
    end,
(query_id, doc_id, relevance, iteration) as
    case
        when is_whole(relevance) then hash(query_id, doc_id, try_cast(relevance as integer), iteration)
        else hash(query_id, doc_id, relevance, iteration)
    end;

-- Lists ------------------------------------------------------------------------------------------------------------

-- What a gain at a rank is divided by in a discounted cumulative gain.
create temp macro discount(rank) as
    log2(rank + 1);

-- The discounted cumulative gain of the first k documents, or of those of them that meet the condition.
create temp macro dcg(gain, rank, k) as
    total(ratio(gain, discount(rank)), within(rank, k), rank),
(gain, condition, rank, k) as
    total(ratio(gain, discount(rank)), condition and within(rank, k), rank);

-- The gain of a relevance grade by a map from grades; other grades are their own gain, and one below 0 has none.
create temp macro listed_gain(relevance, gains) as
    coalesce(cast(gains as map(double, double))[relevance], greatest(relevance, 0));

-- The gain 2^grade - 1.
create temp macro exponential_gain(relevance) as
    case
        when relevance > 1000 then refuse('a relevance above 1000: 2^relevance is too great for a number')
        else pow(2, relevance)
    end - 1;

-- How many relevant documents a recall level asks for: exactly, or by the rule of a version of trec_eval.
create temp macro needed_documents(num_rel, recall, rule) as
    case rule
        when 'ceil' then ceil(recall * num_rel - 1e-9)
        when 'trec_eval_9' then floor(recall * num_rel + 9e-1)
        when 'trec_eval_10' then round(recall * num_rel)
    end;

-- The highest precision at any rank by which the needed number of relevant documents is found; 0 if it never is.
create temp macro interpolated_precision(is_rel, rel_so_far, rank, needed) as
    coalesce(max(ratio(rel_so_far, rank)) filter (where is_rel and rel_so_far >= needed), 0);

-- How many documents a multiple of the relevant ones is, rounded as trec_eval does.
create temp macro depth_of_multiple(num_rel, multiple) as
    case when multiple = 1 then num_rel else floor(multiple * num_rel + 9e-1) end;

-- How many documents above a relevant one are not relevant, by its rank and the relevant documents down to it.
create temp macro nonrel_above(rank, rel_so_far) as
    rank - rel_so_far;

-- The share of the pairs of a relevant and another document, of those seen, that are in the right order; without a
-- pair, what the rule `empty` says.
create temp macro roc_area(empty, num_rel, found, num_seen, wrong_pairs) as
    case
        when found * (num_seen - found) > 0
            then ratio(found * (num_seen - found) - wrong_pairs, found * (num_seen - found))
        when empty = 'zero' then 0
        when empty = 'half' then 0.5e0
        when empty = 'replay' then if(found > 0, 1, 0)
        when empty = 'roerei' then if(num_rel = 0 or found = num_seen, 1, 0)
    end;

-- The weighted harmonic mean of precision and recall, with trec_eval's last bit; `weight`, usually beta^2, is of recall.
-- It is 0 if nothing was found.
create temp macro f_measure(found, num_ret, num_rel, weight) as
    coalesce(
        ratio(
            (1 + weight) * ratio(found, num_ret) * ratio(found, num_rel),
            weight * ratio(found, num_ret) + ratio(found, num_rel)
        ),
        ratio(found, num_ret + weight * num_rel)
    );

-- What an answer gets for a nugget, or a sentence for a citation: 1 for support, `partial` for partial support, 0 for
-- none; null where nothing was judged.
create temp macro support_credit(support, partial) as
    case support when 'support' then 1e0 when 'partial_support' then partial else if(support is null, null, 0e0) end;

-- A score, the higher the better.
create temp macro goodness(score, lower_is_better) as
    case when lower_is_better then -score else score end;

-- A score in 32-bit precision; larger scores are infinite.
create temp macro in_single(score) as
    coalesce(try_cast(score as float), case when score > 0 then 'inf' else '-inf' end::float);

-- Sums over ranks that do not depend on a list ---------------------------------------------------------------------

-- 1/first + ... + 1/last.
create temp macro sum_of_reciprocals(first, last) as
    coalesce(list_sum([1 / place for place in range(first, last + 1)]), 0);

-- The discounts from one rank to another, as a gain of 1 at each adds them up.
create temp macro sum_of_discounts(first, last) as
    list_sum([1 / discount(place) for place in range(first, last + 1)]);

-- The discounted cumulative gain of the first k documents, where those with equal scores, from one rank to another,
-- all have the mean of their discounts; a rank below k counts 0. `gain` is the sum of their gains.
create temp macro tied_dcg(gain, first_rank, last_rank, k) as
    total(
        ratio(gain * sum_of_discounts(first_rank, at_most(last_rank, k)), last_rank - first_rank + 1),
        gain <> 0 and within(first_rank, k),
        first_rank
    );

-- What the documents with equal scores, from one rank to another, add on average over all their orders, where `num_rel`
-- of them are relevant and a rank below k counts 0 (McSherry and Najork 2008): the relevant ones among the first k,
create temp macro expected_found(num_rel, first_rank, last_rank, k) as
    ratio(
        num_rel * greatest(at_most(last_rank, k) - first_rank + 1, 0), last_rank - first_rank + 1
    );

-- the precisions at the ranks of the relevant ones, below `rel_above` others: at a rank, a document is relevant by
-- chance, and so is each one of the group above it,
create temp macro expected_precisions(num_rel, rel_above, first_rank, last_rank, k) as
    ratio(num_rel, last_rank - first_rank + 1) * list_sum([
        (rel_above + 1 + coalesce(ratio((rank - first_rank) * (num_rel - 1), last_rank - first_rank), 0)) / rank
        for rank in range(first_rank, at_most(last_rank, k) + 1)
    ]);

-- and the reciprocal rank of the first relevant one. From the last rank that it can have up: it is at the rank, or else,
-- as all below the rank are in any order too, further below.
create temp macro expected_reciprocal_rank(num_rel, first_rank, last_rank, k) as
    ratio(num_rel, last_rank - first_rank + 1) * list_reduce(
        -- DuckDB 1.5.6 computes other values of several rows if the first value is an argument
        list_prepend(0e0, range(at_most(last_rank - num_rel + 1, k), first_rank - 1, -1)::double[]),
        lambda below, rank: 1 / rank + coalesce(ratio(last_rank - num_rel - rank + 1, last_rank - rank), 0) * below
    );

-- p^first + ... + p^last.
create temp macro sum_of_powers(p, first, last) as
    case when p = 1 then last - first + 1 else (pow(p, first) - pow(p, last + 1)) / (1 - p) end;

-- 1/x^2 + 1/(x + 1)^2 + ... without end: twenty terms as they are, the rest by its asymptotic series.
create temp macro trigamma(x) as
    list_sum([1 / pow(x + step, 2) for step in range(20)])
    + 1 / (x + 20) + 1 / (2 * pow(x + 20, 2)) + 1 / (6 * pow(x + 20, 3))
    - 1 / (30 * pow(x + 20, 5)) + 1 / (42 * pow(x + 20, 7)) - 1 / (30 * pow(x + 20, 9));

-- 1/first^2 + 1/(first + 1)^2 + ... + 1/last^2, where first and last are any numbers above 0.
create temp macro sum_of_inverse_squares(first, last) as
    trigamma(first) - trigamma(last + 1);

-- Preferences ------------------------------------------------------------------------------------------------------

-- Preferences that count: all, those with at least one document retrieved, or those with both.
create temp macro possible_pairs(pairs, possible_ret, possible_imp, possible) as
    case pairs when 'all' then possible when 'one' then possible_ret + possible_imp else possible_ret end;

-- Those of them that the ranking keeps.
create temp macro kept_pairs(pairs, kept_ret, kept_imp) as
    case pairs when 'both' then kept_ret else kept_ret + kept_imp end;

-- Popularity and similarity ----------------------------------------------------------------------------------------

-- The self-information, in bits, of an item that `frequency` of `population` have; null if none has it.
create temp macro information(frequency, population) as
    log2(ratio(nullif(population, 0), frequency));

-- The similarity of two sets of these sizes: the cosine of their indicator vectors.
create temp macro cosine(common, size, other_size) as
    ratio(common, sqrt(size::double * other_size));

-- The distance of two sets of these sizes: how far they are from alike, or how many members only one of them has.
create temp macro set_distance(distance, common, size, other_size) as
    case distance
        when 'cosine' then 1 - coalesce(cosine(common, size, other_size), 0)
        when 'jaccard' then 1 - coalesce(ratio(common, size + other_size - common), 0)
        else size + other_size - 2 * common
    end;

-- The number of features that two documents share: the sum over their blocks, joined by block.
create temp macro common_features(members, other_members) as
    sum(bit_count(members & other_members));

-- The part, of so many with equal mass and with the highest first, that follows from the mass before an item.
create temp macro part_by_mass(parts, before, mass) as
    greatest(parts - floor(ratio(parts * before, mass)), 1);

-- The mean over queries --------------------------------------------------------------------------------------------

-- The mean of values that are not null, in the order of `place`; null if no row meets the condition.
create temp macro mean_of(x, place) as
    ratio(sum(x order by place), count(x)),
(x, condition, place) as
    ratio(sum(x order by place) filter (where condition), count(x) filter (where condition));

-- A value's addend in a geometric mean. greatest() ignores a null, which must not count as the floor.
create temp macro floored_log(x) as
    case when x is not null then ln(greatest(x, 1e-5)) end;

-- The values that are not null, from the lowest to the highest.
create temp macro from_lowest(x, place) as
    list(x order by x, place) filter (where x is not null);

-- Agreement --------------------------------------------------------------------------------------------------------

-- Kendall's tau-b: pairs in the same order minus pairs in opposite order, by the pairs that each ranking orders.
create temp macro tau_b(difference, ordered_one, ordered_other) as
    ratio(difference, sqrt(ordered_one::double * ordered_other));

-- Pairs in the same order minus pairs in opposite order; `tied` pairs have no order in either ranking.
create temp macro same_less_swapped(same, ordered_one, ordered_other, items, tied := 0) as
    2 * same - ordered_one - ordered_other + items * (items - 1) // 2 - tied;

-- tau-AP: the mean share of the items above each item that the other ranking has above it too, scaled to -1 to 1.
-- The first place has no item above it.
create temp macro tau_ap(above_in_both, above) as
    2 * ratio(
        sum(ratio(above_in_both, above) order by above, above_in_both),
        count(*) filter (where above > 0)
    ) - 1;

-- Pearson's correlation, summed in the order of `place`; null where it is not defined, as nothing deviates.
create temp macro correlation(x, y, place) as
    nullif(corr(x, y order by place), 'nan'::double);

-- The least p that queries can give, of which so many differ: that of all choices of signs, of which two are as extreme
-- as the one where every difference has the same sign. No p, interval or verdict may claim more than that.
create temp macro least_p(differing) as
    least(1, pow(2, 1 - differing));

-- ln(1 + x), also where x is so small that 1 + x is 1.
create temp macro log_of_one_plus(x) as
    case when x < 1 then 2 * atanh(x / (x + 2)) else ln(x + 1) end;

-- Places from 0 to infinity and their weights, which turn an integral into a sum (exp-sinh quadrature; Takahasi and
-- Mori 1974, Double exponential formulas for numerical integration).
create temp macro half_line() as
    list_transform(
        [{'place': exp(1.5e0 * sinh(step / 16e0)), 'growth': cosh(step / 16e0) * 3 / 32} for step in range(-64, 65)],
        lambda node: {'place': node.place, 'weight': node.place * node.growth}
    );

-- The density of Student's t, as a share of that at 0.
create temp macro t_density(t, degrees) as
    exp(-(degrees + 1) / 2 * log_of_one_plus(square(t) / degrees));

-- The mass of Student's t beyond t, which is at least 0, as a multiple of its density there: an integral over the
-- distance from t, whose unit is chosen so that most of the mass lies within a few. What a macro names several times,
-- it computes as often, so `risen` is a value of its own.
create temp macro t_mass_beyond(t, degrees) as
    (degrees + square(t)) / ((degrees + 1) * (t + 1)) * list_sum([
        one.weight * exp(-(degrees + 1) / 2 * log_of_one_plus(one.risen))
        for one in [
            {
                'risen': node.place * (2 * t + node.place * (degrees + square(t)) / ((degrees + 1) * (t + 1)))
                    / ((degrees + 1) * (t + 1)),
                'weight': node.weight
            }
            for node in half_line()
        ]
    ]);

-- The two-sided p of a value of Student's t: its mass beyond -t and t by the whole mass; null without degrees of freedom.
create temp macro t_two_sided(t, degrees) as
    case
        when degrees > 0 and abs(t) < 1e100
            then t_density(t, degrees) * t_mass_beyond(abs(t), degrees) / t_mass_beyond(0, degrees)
        when degrees > 0 and t is not null then 0
    end;

-- The two-sided p of the paired t-test of a mean difference, by its t. Differences that are all the same have no t:
-- theirs is the least p that so many queries can give. It is null if nothing differs.
create temp macro paired_p_of(t, difference, deviation, queries) as
    case
        when deviation = 0 and difference <> 0 then least_p(queries)
        else t_two_sided(t, queries - 1)
    end;

-- The same by the difference and the deviation.
create temp macro paired_p(difference, deviation, queries) as
    paired_p_of(ratio(difference * sqrt(queries), deviation), difference, deviation, queries);

-- The mass of Student's t below a value; null without degrees of freedom.
create temp macro t_below(t, degrees) as
    case when t > 0 then 1 - t_two_sided(t, degrees) / 2 else t_two_sided(t, degrees) / 2 end;

-- The mass of the normal distribution below a value: that of Student's t with so many degrees that no digit differs.
create temp macro normal_below(z) as
    t_below(z, 1e15);

-- The power of a two-sided t-test with this noncentrality n d^2: see `t_steps` in sql/macros/student.sql.j2.
create temp macro t_power(masses, noncentrality) as
    1 - list_sum([
        step.mass * exp(step.number * ln(noncentrality / 2) - noncentrality / 2 - step.log_factorial) for step in masses
    ]);

-- Resampling -------------------------------------------------------------------------------------------------------

-- Doubles as whole multiples of a unit: their sums are exact and the same in every order. The unit is a power of two,
-- far below the values, the largest of which is given, and far above the errors of their own rounding; of a great
-- `number` of them it is larger, so that any sum is a bigint.
create temp macro units_per_one(largest, number) as
    pow(2, least(44, 60 - ceil(log2(number))) - ceil(log2(greatest(largest, 1e-30))));

-- A value in these units.
create temp macro in_units(x, units) as
    round(x * units)::bigint;

-- A value without its last bits, in which doubles of one number may differ: these units of it, as a double.
create temp macro whole_units(x, units) as
    ratio(in_units(x, units), units);

-- Which of `number` things a random word of 32 bits picks.
create temp macro picked(word, number) as
    ((word * number::ubigint) >> 32)::integer;

-- Fusion -----------------------------------------------------------------------------------------------------------

-- The sum over the runs that have a document. The addends are sorted first, so that neither threads nor the order of
-- the runs can change the last bits.
create temp macro sorted_sum(x) as
    list_sum(list_sort(list(x)));

-- The points that a run gives in a Borda count; documents that it lacks share the remaining points.
create temp macro borda_points(rank, num_ret, num_candidates) as
    case when rank is null then (num_candidates - num_ret + 1) / 2 else num_candidates - rank + 1 end;

-- A probability, but 0.001 in place of 0.
create temp macro never_zero(p) as
    coalesce(nullif(p, 0), 0.001e0);

-- The logarithm of p / (1 - p), where 0.001 replaces a p or 1 - p of 0.
create temp macro log_odds(p) as
    ln(never_zero(p) / never_zero(1 - never_zero(p)));

-- The segment of a list that a rank is in, from 1; all segments but the last have the same length.
create temp macro segment(rank, num_ret, segments) as
    (rank - 1) // ceil(num_ret / segments)::bigint + 1;
